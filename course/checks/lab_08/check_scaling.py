"""Checks of lab 08: a benchmark that can be trusted, what it says of scaling, and a prediction."""

from course.checks.engine.catalogue import hint
from course.checks.lab_08 import on_rank as on_rank
from course.explore.models.alpha_beta import AlphaBeta
from course.explore.models.hierarchy import Cluster, ways

ROUGHLY = 0.05  # how far a rate may be from the true one: a first step may be handed out before the clock runs


def near(got: float, wanted: float) -> bool:
    """Whether a measured rate is about right."""
    return abs(got / wanted - 1) < ROUGHLY


class TestBenchmark:
    """Exercise 1: throughput, measured so that it can be trusted."""

    exercise = "benchmark"

    @hint(
        "the first steps are slow for reasons of their own: take as many as `warmup` says before any clock runs"
    )
    def test_warm_up(self, ranks):
        """Steps that are slow only at first do not count."""
        rates = ranks(1, on_rank.slow_at_first)[0]
        assert near(rates[0], on_rank.RATE), (
            f"the first round gives {rates[0]:.0f} instead of {on_rank.RATE:.0f} a second"
        )

    @hint("how many rounds were asked for, and how many steps in each?")
    def test_rounds(self, ranks):
        """As many figures as rounds, as many steps as rounds, steps and warm-up ask for."""
        figures, calls = ranks(1, on_rank.counted, 4, 3, 2)[0]
        assert figures == 4, f"{figures} figures for 4 rounds"
        assert calls == 2 + 4 * 3, f"{calls} steps instead of 2 to warm up and 4 rounds of 3"

    @hint("what was handed out is not done: call synchronize() before the clock is read")
    def test_synchronizes(self, ranks):
        """Work that goes on after a step returned is waited for before the clock stops."""
        rates = ranks(1, on_rank.behind_the_back)[0]
        assert near(rates[-1], on_rank.RATE), (
            f"it says {rates[-1]:.0f} where {on_rank.RATE:.0f} a second get done"
        )

    @hint("work of the warm-up may still be going on when the clock starts")
    def test_starts_clean(self, ranks):
        """Work left over from the warm-up is waited for before the clock starts."""
        rates = ranks(1, on_rank.left_over)[0]
        assert near(rates[0], on_rank.RATE), (
            f"the first round gives {rates[0]:.0f} instead of {on_rank.RATE:.0f} a second"
        )

    @hint("who comes first waits in its first step for who comes last: let all start together")
    def test_starts_together(self, ranks):
        """A rank that arrives late does not make a round longer."""
        rates = ranks(2, on_rank.late)[0]
        assert near(rates[0], 2 * on_rank.RATE), (
            f"it says {rates[0]:.0f} instead of {2 * on_rank.RATE:.0f} a second"
        )

    @hint("the job is done when the last rank is")
    def test_slowest(self, ranks):
        """The slowest rank's time counts, and all ranks return the same figures."""
        first, second = ranks(2, on_rank.one_is_slow)
        assert near(first[0], on_rank.RATE), (
            f"rank 1 is half as fast: {first[0]:.0f} instead of {on_rank.RATE:.0f} a second"
        )
        assert first == second, f"rank 0 says {first[0]:.0f} and rank 1 {second[0]:.0f}"

    @hint("add the samples up over the ranks; they need not have equally many")
    def test_all_samples(self, ranks):
        """The samples of all ranks count, each rank with its own number."""
        rates = ranks(2, on_rank.uneven)[0]
        assert near(rates[0], 4 * on_rank.RATE), (
            f"it says {rates[0]:.0f} instead of {4 * on_rank.RATE:.0f} a second"
        )

    @hint(
        "one round in five may be disturbed: which average does not move, and what are the quarter marks?"
    )
    def test_summary(self, ranks):
        """summary() gives the median and the marks of the middle half."""
        got = ranks(1, on_rank.summary, [40.0, 10.0, 1000.0, 30.0, 20.0])[0]
        assert got == (30.0, 20.0, 40.0), f"of 10, 20, 30, 40 and 1000 it makes {got}"


class TestEfficiency:
    """Exercise 2: what the throughputs say."""

    exercise = "efficiency"

    @hint("n ranks at their best are n times as fast as one")
    def test_efficiency(self, ranks):
        """The efficiency is 1 where scaling is perfect, and lower by what is missing."""
        (got,) = ranks(
            1,
            on_rank.call,
            "efficiency",
            "efficiency",
            [({1: 50.0, 2: 100.0, 4: 150.0, 8: 100.0},)],
        )[0]
        assert got == {1: 1.0, 2: 1.0, 4: 0.75, 8: 0.25}, (
            f"of 50, 100, 150, 100 with 1, 2, 4, 8 ranks it makes {got}"
        )

    @hint("put a speed-up of n into it, then a speed-up of 1")
    def test_karp_flatt(self, ranks):
        """karp_flatt() finds the serial share that Amdahl's law was given."""
        cases = [(share, n) for share in (0.0, 0.1, 0.5, 1.0) for n in (2, 7, 64)]
        speedups = [(1 / (share + (1 - share) / n), n) for share, n in cases]
        found = ranks(1, on_rank.call, "efficiency", "karp_flatt", speedups)[0]
        for (share, n), got in zip(cases, found, strict=True):
            assert abs(got - share) < 1e-9, (
                f"{n} ranks, a serial share of {share}: it finds {got:.3g}"
            )


class TestPredict:
    """Exercise 3: predict a step."""

    exercise = "predict"

    @hint("draw the points, draw the line, read off where it starts and how steep it is")
    def test_fit(self, ranks):
        """fit() finds the line that made the points, and the best line through points that are on none."""
        on_line, off_line = (
            [(8, 0.018), (16, 0.026), (64, 0.074)],
            [(0, 0.0), (1, 1.0), (2, 0.0), (3, 3.0)],
        )
        found = ranks(1, on_rank.call, "predict", "fit", [(on_line,), (off_line,)])[0]
        for points, got, wanted in zip(
            (on_line, off_line), found, ((0.01, 0.001), (-0.2, 0.8)), strict=True
        ):
            assert all(abs(a - b) < 1e-9 for a, b in zip(got, wanted, strict=True)), (
                f"through {points} it draws {got}"
            )

    @hint("count the bytes on the port: g rings, each for a g-th of the sum, one port")
    def test_hierarchical(self, ranks):
        """hierarchical() takes what its three phases take, on any cluster."""
        cases = [
            (size, *of) for size in (1e3, 1e8) for of in ((2, 8), (16, 4), (3, 1), (1, 8), (1, 1))
        ]
        inside, network = (5e-6, 1e-11), (2e-5, 1e-9)
        found = ranks(1, on_rank.hierarchical, cases, inside, network)[0]
        for (size, nodes, gpus), got in zip(cases, found, strict=True):
            wanted = ways(Cluster(nodes, gpus, AlphaBeta(*inside), AlphaBeta(*network)), size)[
                -1
            ].seconds
            assert abs(got - wanted) <= 1e-9 * wanted + 1e-15, (
                f"{nodes} nodes of {gpus}, {size:.0e} bytes: {got:.3g} s instead of {wanted:.3g} s"
            )

    @hint("of 6 s, 80 per cent may hide: 4.8 s, if the backward pass is that long")
    def test_step(self, ranks):
        """What hides is at most the share that may, and at most the backward pass; the rest is waited for."""
        cases = [
            (9.0, 6.0, 0.5),
            (9.0, 20.0, 1.0),
            (9.0, 6.0, 0.0),
            (9.0, 6.0, 1.0),
            (9.0, 0.0, 0.8),
        ]
        found = ranks(1, on_rank.call, "predict", "step_seconds", cases)[0]
        for (compute, comm, hidden), got, wanted in zip(
            cases, found, (12.0, 23.0, 15.0, 9.0, 9.0), strict=True
        ):
            assert abs(got - wanted) < 1e-9, (
                f"{compute:g} s of computing, {comm:g} s of communication of which {hidden:.0%} may hide: "
                f"{got:.3g} s instead of {wanted:g} s"
            )
