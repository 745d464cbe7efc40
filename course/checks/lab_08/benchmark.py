"""Checks of `benchmark`, exercise 1 of lab 08."""

from course.checks.engine.hint import hint
from course.checks.lab_08 import on_rank_benchmark as on_rank

# How far a rate may be from the true one: a first step may be handed out before the clock runs.
ROUGHLY = 0.05


def near(got: float, wanted: float) -> bool:
    """Whether a measured rate is about right."""
    return abs(got / wanted - 1) < ROUGHLY


class TestBenchmark:
    """Exercise 1: throughput, measured so that it can be trusted."""

    @hint(
        "the first steps are slow for reasons of their own: "
        "take as many as `warmup` says before any clock runs"
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

    @hint("add the samples up over the ranks; they need not have the same number")
    def test_all_samples(self, ranks):
        """The samples of all ranks count, each rank with its own number."""
        rates = ranks(2, on_rank.uneven)[0]
        assert near(rates[0], 4 * on_rank.RATE), (
            f"it says {rates[0]:.0f} instead of {4 * on_rank.RATE:.0f} a second"
        )

    @hint(
        "one round in five may be disturbed: which average does not move, "
        "and what are the quarter marks?"
    )
    def test_summary(self, alone):
        """summary() gives the median and the marks of the middle half."""
        got = alone(on_rank.summary, [40.0, 10.0, 1000.0, 30.0, 20.0])
        assert got == (30.0, 20.0, 40.0), f"of 10, 20, 30, 40 and 1000 it makes {got}"
