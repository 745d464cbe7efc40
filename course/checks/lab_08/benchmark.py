"""Checks of `benchmark`, exercise 1 of lab 08."""

from course.checks.engine.hint import hint
from course.checks.lab_08 import on_rank_benchmark as on_rank

# How far a rate may be from the true one: a first step may be handed out before the clock runs.
ROUGHLY = 0.05


def near(got: float, wanted: float) -> bool:
    """Whether a measured rate is about right."""
    return abs(got / wanted - 1) < ROUGHLY


class TestBenchmark:
    """Exercise 1: a throughput that you can trust."""

    @hint(
        "The first steps are slow for reasons of their own: "
        "take as many as `warmup` says before the clock runs."
    )
    def test_warm_up(self, ranks):
        """Steps that are slow only at the beginning do not count."""
        rates = ranks(1, on_rank.slow_at_first)[0]
        assert near(rates[0], on_rank.RATE), (
            f"the first round gives {rates[0]:.0f} instead of {on_rank.RATE:.0f} samples per second"
        )

    @hint("How many rounds does the caller want, and how many steps in each of them?")
    def test_rounds(self, ranks):
        """There is one figure per round, and no step more or less than the caller wants."""
        figures, calls = ranks(1, on_rank.counted, 4, 3, 2)[0]
        assert figures == 4, f"there are {figures} figures for 4 rounds"
        assert calls == 2 + 4 * 3, (
            f"it took {calls} steps instead of 2 to warm up and 4 rounds of 3"
        )

    @hint("Queued work is not finished work: call synchronize() before you read the clock.")
    def test_synchronizes(self, ranks):
        """The clock stops only when the work of every step is done."""
        rates = ranks(1, on_rank.behind_the_back)[0]
        assert near(rates[-1], on_rank.RATE), (
            f"it reports {rates[-1]:.0f} samples per second, but only {on_rank.RATE:.0f} get done"
        )

    @hint("Work of the warm-up may still be in the queue when the clock starts.")
    def test_starts_clean(self, ranks):
        """The clock starts only when the work of the warm-up is done."""
        rates = ranks(1, on_rank.left_over)[0]
        assert near(rates[0], on_rank.RATE), (
            f"the first round gives {rates[0]:.0f} instead of {on_rank.RATE:.0f} samples per second"
        )

    @hint(
        "An early rank waits in its first step for the late one, so let all of them start together."
    )
    def test_starts_together(self, ranks):
        """A rank that arrives late does not make a round longer."""
        rates = ranks(2, on_rank.late)[0]
        assert near(rates[0], 2 * on_rank.RATE), (
            f"it reports {rates[0]:.0f} instead of {2 * on_rank.RATE:.0f} samples per second"
        )

    @hint("The job is done when the last rank is done: which reduction finds its time?")
    def test_slowest(self, ranks):
        """The time of the slowest rank counts, and all ranks return the same figures."""
        first, second = ranks(2, on_rank.one_is_slow)
        assert near(first[0], on_rank.RATE), (
            f"rank 1 is half as fast, and it reports {first[0]:.0f} samples per second "
            f"instead of {on_rank.RATE:.0f}"
        )
        assert first == second, f"rank 0 reports {first[0]:.0f} and rank 1 {second[0]:.0f}"

    @hint("Add up the samples of all ranks: they need not have the same number.")
    def test_all_samples(self, ranks):
        """The samples of all ranks count, and each rank has its own number of them."""
        rates = ranks(2, on_rank.uneven)[0]
        assert near(rates[0], 4 * on_rank.RATE), (
            f"it reports {rates[0]:.0f} instead of {4 * on_rank.RATE:.0f} samples per second"
        )

    @hint(
        "One round in five may be disturbed: which average does not move then, "
        "and which two numbers enclose the middle half?"
    )
    def test_summary(self, alone):
        """summary() gives the median and the two ends of the middle half."""
        got = alone(on_rank.summary, [40.0, 10.0, 1000.0, 30.0, 20.0])
        assert got == (30.0, 20.0, 40.0), f"from 10, 20, 30, 40 and 1000 it makes {got}"
