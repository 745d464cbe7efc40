"""Checks of `benchmark`, exercise 1 of lab 08."""

from course.checks.lab_08 import on_rank_benchmark as on_rank
from course.checks.tools.hint import Failure, hint

# How far a rate may be from the true one: a first step may be handed out before the clock runs.
ROUGHLY = 0.05
ONE_STEP = "A round has `steps` steps. Whose samples does the figure count: one step's, or all?"
BUSY = (
    "One rank starts its clock while the device of the other is still busy. Where do they meet, "
    "and what must come before?"
)
SLOWEST = "The job is done when the last rank is done: which reduction finds its time?"


def expect(rates: list[float], expected: float, better_hint: str | None = None) -> None:
    """Every round's rate has to be about right; `better_hint` replaces that of the check."""
    where = "this round" if len(rates) == 1 else "every round"
    fault = (
        f"it reports {shown(rates)} samples per second; in truth it is {expected:.0f} in {where}"
    )
    if near([rate * on_rank.STEPS for rate in rates], expected):
        raise Failure(fault, ONE_STEP)
    if better_hint and not near(rates, expected):
        raise Failure(fault, better_hint)
    assert near(rates, expected), fault


def near(rates: list[float], expected: float) -> bool:
    """Whether all of them are about right."""
    return all(abs(rate / expected - 1) < ROUGHLY for rate in rates)


def shown(numbers: list[float]) -> str:
    """The numbers in a sentence."""
    *others, last = [f"{number:.0f}" for number in numbers]
    return " and ".join(filter(None, [", ".join(others), last]))


class TestBenchmark:
    """Exercise 1: a throughput that you can trust."""

    @hint(
        "The first steps are slow for reasons of their own: "
        "take as many as `warmup` says before the clock runs."
    )
    def test_warm_up(self, ranks):
        """Steps that are slow only at the beginning do not count."""
        expect(ranks(1, on_rank.slow_at_first)[0], on_rank.RATE)

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
        """The clock of every round stops only when the work of its steps is done."""
        expect(ranks(1, on_rank.behind_the_back)[0], on_rank.RATE)

    @hint("Work of the warm-up may still be in the queue when the clock starts.")
    def test_starts_clean(self, ranks):
        """The clock starts only when the work of the warm-up is done."""
        expect(ranks(1, on_rank.left_over)[0], on_rank.RATE)

    @hint(
        "An early rank waits in its first step for the late one, so let all of them start together."
    )
    def test_starts_together(self, ranks):
        """A rank that arrives late does not make a round longer: after the warm-up, after another
        round, and with work in its queue.
        """
        first, second = ranks(2, on_rank.late)[0]
        worked_s = on_rank.STEPS * on_rank.STEP_S
        own_wait = worked_s / (worked_s + on_rank.LATE_S)
        expected = 2 * on_rank.RATE * own_wait  # rank 1 truly takes longer in the first round
        expect([first], expected, SLOWEST if first > expected else None)
        expect([second], 2 * on_rank.RATE)
        expect(ranks(2, on_rank.late_queue)[0], 2 * on_rank.RATE, BUSY)

    @hint(SLOWEST)
    def test_slowest(self, ranks):
        """In each round the time of the slowest rank counts, and all ranks return the same
        figures.
        """
        first, second = ranks(2, on_rank.slow_in_turns)
        expect(first, on_rank.RATE)
        assert first == second, f"rank 0 reports {shown(first)}, and rank 1 {shown(second)}"

    @hint("What comes between this rank's last step and the moment in which the clock is read?")
    def test_own_seconds(self, ranks):
        """round_seconds() is each rank's own time, without a wait for a slower one."""
        for rank, seconds in enumerate(ranks(2, on_rank.seconds)):
            worked = on_rank.STEPS * on_rank.STEP_S * (1 + rank)
            assert near([seconds], worked), (
                f"rank {rank} works for {worked:.2f} s, and round_seconds returns {seconds:.2f} s"
            )

    @hint("Add up the samples of all ranks: they need not have the same number.")
    def test_all_samples(self, ranks):
        """The samples of all ranks count. Each rank has its own number of them, which need not be
        whole.
        """
        expect(ranks(2, on_rank.uneven, (0.25, 0.5))[0], 0.075 * on_rank.RATE)
