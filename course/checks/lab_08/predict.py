"""Checks of `predict`, exercise 3 of lab 08."""

from course.checks.lab_08 import on_rank_predict as on_rank
from course.checks.tools.hint import hint
from course.core import words
from course.explore.models import alpha_beta, hierarchy


class TestPredict:
    """Exercise 3: predict a step."""

    @hint(
        "Count the bytes on a node's port: g rings run at once, "
        "each carries one g-th of the sum, and all of them share the port. "
        "Their latencies pass at the same time."
    )
    def test_hierarchical(self, alone):
        """hierarchical() takes as long as its three phases together, on any cluster."""
        shapes = ((2, 8), (16, 4), (5, 6), (3, 1), (1, 8), (1, 1))  # nodes, GPUs per node
        cases = [(size, *shape) for size in (1e3, 1e8) for shape in shapes]
        inside, network = (5e-6, 1e-11), (2e-5, 1e-9)
        links = alpha_beta.AlphaBeta(*inside), alpha_beta.AlphaBeta(*network)
        results = alone(on_rank.hierarchical, cases, inside, network)
        for (size, nodes, gpus), got in zip(cases, results, strict=True):
            expected = hierarchy.ways(hierarchy.Topology(nodes, gpus, *links), size)[-1].seconds
            assert abs(got - expected) <= 1e-9 * expected + 1e-15, (
                f"{words.plural(nodes, 'node')} of {words.plural(gpus, 'GPU')}, {size:.0e} bytes: "
                f"{got:.6g} s instead of {expected:.6g} s"
            )

    @hint("If 80 % of 6 s may hide, that is 4.8 s, provided the backward pass is that long.")
    def test_step(self, alone):
        """At most the share that may hide does, and at most for the length of the backward pass;
        the step waits for the rest.
        """
        expected = {  # of (compute, communication, share that may hide)
            (9.0, 6.0, 0.5): 12.0,
            (9.0, 20.0, 1.0): 23.0,
            (9.0, 10.0, 0.5): 14.0,
            (9.0, 20.0, 0.5): 23.0,
            (9.0, 6.0, 0.0): 15.0,
            (9.0, 6.0, 1.0): 9.0,
            (9.0, 0.0, 0.8): 9.0,
        }
        results = alone(on_rank.step_seconds, list(expected))
        for (compute, comm, hidden), got in zip(expected, results, strict=True):
            seconds = expected[compute, comm, hidden]
            assert abs(got - seconds) < 1e-9, (
                f"{compute:g} s of computing and {comm:g} s of communication, "
                f"{100 * hidden:.0f} % of which may hide, give {got:.3g} s instead of {seconds:g} s"
            )
