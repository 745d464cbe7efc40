"""Checks of `predict`, exercise 3 of lab 08."""

from course.checks.engine.hint import hint
from course.checks.lab_08 import on_rank_predict as on_rank
from course.explore.models import alpha_beta, hierarchy


class TestPredict:
    """Exercise 3: predict a step."""

    @hint("draw the points, draw the line, read off where it starts and how steep it is")
    def test_fit(self, alone):
        """fit() finds the line that made the points, and the best line through points
        that are on none.
        """
        on_line = [(8, 0.018), (16, 0.026), (64, 0.074)]
        off_line = [(0, 0.0), (1, 1.0), (2, 0.0), (3, 3.0)]
        cases, lines = [on_line, off_line], [(0.01, 0.001), (-0.2, 0.8)]
        found = alone(on_rank.fit, cases)
        for points, got, wanted in zip(cases, found, lines, strict=True):
            assert all(abs(a - b) < 1e-9 for a, b in zip(got, wanted, strict=True)), (
                f"through {points} it draws {got}"
            )

    @hint("count the bytes on the port: g rings, each for a g-th of the sum, one port")
    def test_hierarchical(self, alone):
        """hierarchical() takes what its three phases take, on any cluster."""
        shapes = ((2, 8), (16, 4), (3, 1), (1, 8), (1, 1))  # nodes, GPUs per node
        cases = [(size, *shape) for size in (1e3, 1e8) for shape in shapes]
        inside, network = (5e-6, 1e-11), (2e-5, 1e-9)
        links = alpha_beta.AlphaBeta(*inside), alpha_beta.AlphaBeta(*network)
        found = alone(on_rank.hierarchical, cases, inside, network)
        for (size, nodes, gpus), got in zip(cases, found, strict=True):
            wanted = hierarchy.ways(hierarchy.Cluster(nodes, gpus, *links), size)[-1].seconds
            assert abs(got - wanted) <= 1e-9 * wanted + 1e-15, (
                f"{nodes} nodes of {gpus}, {size:.0e} bytes: {got:.3g} s instead of {wanted:.3g} s"
            )

    @hint("of 6 s, 80 per cent may hide: 4.8 s, if the backward pass is that long")
    def test_step(self, alone):
        """What hides is at most the share that may, and at most the backward pass; the rest
        is waited for.
        """
        wanted = {  # of (compute, communication, share that may hide)
            (9.0, 6.0, 0.5): 12.0,
            (9.0, 20.0, 1.0): 23.0,
            (9.0, 6.0, 0.0): 15.0,
            (9.0, 6.0, 1.0): 9.0,
            (9.0, 0.0, 0.8): 9.0,
        }
        found = alone(on_rank.step_seconds, list(wanted))
        for (compute, comm, hidden), got in zip(wanted, found, strict=True):
            seconds = wanted[compute, comm, hidden]
            assert abs(got - seconds) < 1e-9, (
                f"{compute:g} s of computing, {comm:g} s of communication of which {hidden:.0%} "
                f"may hide: {got:.3g} s instead of {seconds:g} s"
            )
