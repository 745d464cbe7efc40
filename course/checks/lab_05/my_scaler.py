"""Checks of `my_scaler`, exercise 2 of lab 05."""

from course.checks.lab_05 import on_rank_my_scaler as on_rank
from course.checks.tools.hint import Failure, Undecided, hint
from course.checks.tools.reference import CLOSE

INF, NAN = float("inf"), float("nan")
# By name: the scaler's options, what is planted in which step, and how many steps.
DECISIONS = {
    "interval 3": (
        {"factor": 1024.0, "growth": 2.0, "backoff": 0.5, "interval": 3},
        {
            0: (0, INF),
            4: (9, NAN),
            5: (3, -INF),
            11: (5, INF),
            12: (5, INF),
            13: (5, NAN),
            30: (1, INF),
        },
        40,
    ),
    "interval 1, near float32's end": (
        {"factor": 2.0**120, "growth": 4.0, "backoff": 0.25, "interval": 1},
        {2: (0, NAN)},
        8,
    ),
    "from 2 to far below 1": (
        {"factor": 2.0, "growth": 1.5, "backoff": 0.25, "interval": 2},
        dict.fromkeys((0, 1, 2, 3, 6), (1, INF)),
        9,
    ),
}

BACK_OFF = (
    "After an overflow the factor is `backoff` times as large, however small that is, and the "
    "count begins again."
)


class TestMyScaler:
    """Exercise 2: the dynamic loss scaler."""

    @hint("Multiply the loss; divide every gradient, in place, in every step.")
    def test_gradients(self, alone):
        """Gradients are `factor` times as large after backward, and as they should be after
        unscale_, in each step.
        """
        for step, (scaled, unscaled) in enumerate(alone(on_rank.gradients)):
            assert scaled < CLOSE, (
                f"step {step}: a scaled gradient is off by {scaled:.2g} times the factor"
            )
            assert unscaled < CLOSE, f"step {step}: an unscaled gradient is off by {unscaled:.2g}"

    @hint("131,072 is more than float16 can hold: in which format do you divide?")
    def test_formats(self, alone):
        """Gradients in 16, 32 and 64 bits are divided, whatever the format of the factor."""
        for dtype, got in alone(on_rank.by_format).items():
            assert got == [1024, -2, 0.5], (
                f"1024, -2 and 0.5 in {dtype}, divided by a factor of 131,072 and multiplied by it "
                f"again, are {got}"
            )

    @hint(
        "Write down factor and good_steps after each step. float32 ends below 2**128: what is "
        "larger is inf."
    )
    def test_decisions(self, alone):
        """In forty steps, some with inf or nan, factor and count are torch's after every step, and
        the weights at the end.
        """
        for name, (mine, theirs, off) in alone(on_rank.all_decisions, DECISIONS).items():
            planted = DECISIONS[name][1]
            for step, (got, expected) in enumerate(zip(mine, theirs, strict=True)):
                fault = (
                    f"your factor is {got[0]:g} and your count {got[1]}; "
                    f"torch's are {expected[0]:g} and {expected[1]}"
                )
                if step in planted and got != expected:
                    backoff = f"a backoff of {DECISIONS[name][0]['backoff']}"
                    place = f"after step {step} (overflow, with {backoff})"
                    raise Failure(f"{name}: {place} {fault}", BACK_OFF)
                assert got == expected, f"{name}: after step {step} {fault}"
            assert off < CLOSE, (
                f"{name}: the weights differ from those under torch's scaler by {off:.2g}"
            )

    @hint("A comparison with nan is never true, and one bad element of one gradient is enough.")
    def test_finds(self, alone):
        """An inf, -inf or nan in one element of any gradient is found, and nothing else is."""
        for what, was_skipped in alone(on_rank.finds).items():
            if " in parameter " in what:
                assert was_skipped, f"{what} is not found"
            else:
                assert not was_skipped, (
                    f"a step is skipped although all its gradients are finite ({what})"
                )

    def expect_found(self, alone) -> None:
        """Judge no agreement of the ranks before one rank by itself finds an overflow."""
        results = alone(on_rank.finds)
        if not all(found for what, found in results.items() if " in parameter " in what):
            raise Undecided("first, every inf and nan must be found: see its check")

    @hint("A skipped step does not call optimizer.step() at all: even zeros change its averages.")
    def test_skips(self, alone):
        """A skipped step moves neither the weights nor the optimizer's state."""
        moved, same, calls = alone(on_rank.skipped)
        assert moved == 0, f"the weights move by {moved:.2g} in a step that overflows"
        assert same and not calls, "the optimizer is stepped although a gradient has overflowed"

    @hint("A loop that clips calls unscale_ itself, before step() does.")
    def test_once(self, alone):
        """With unscale_ called before step, to clip, the weights are those under torch's scaler."""
        off = alone(on_rank.once)
        assert off < CLOSE, f"the weights differ by {off:.2g}"

    @hint(
        "Every rank asks in every step, also one that has an overflow. What must the flags become "
        "if one of three is set?"
    )
    def test_same_decision(self, ranks, alone):
        """Where one rank of three alone overflows and nobody averages gradients, all three skip
        and keep one factor.
        """
        records = ranks(3, on_rank.sharded)
        for step, by_rank in enumerate(zip(*records, strict=True)):
            skips, factors = zip(*by_rank, strict=True)
            if set(skips) != {step in on_rank.OVERFLOWS}:
                self.expect_found(alone)
                where = (
                    f"rank {on_rank.OVERFLOWS[step][0]}" if step in on_rank.OVERFLOWS else "no rank"
                )
                raise AssertionError(f"step {step}, {where} overflows: by rank, skipped {skips}")
            assert len(set(factors)) == 1, f"after step {step} the ranks' factors are {factors}"

    @hint("DDP's average carries the inf to every rank; what should each of them do?")
    def test_ddp(self, ranks):
        """Under DDP, where one rank's loss overflows, every rank decides as torch's scaler does."""
        for rank, (mine, theirs, off) in enumerate(ranks(2, on_rank.replicated)):
            assert mine == theirs, f"rank {rank}: your factors are {mine}, torch's {theirs}"
            assert off < CLOSE, (
                f"rank {rank}: the weights differ from those under torch's scaler by {off:.2g}"
            )

    @hint("One flag for all gradients together is enough. Who waits for a rank that does not ask?")
    def test_message(self, ranks):
        """The ranks exchange one number per step, and a step leaves nothing behind."""
        steps, left = ranks(2, on_rank.messages)[0]
        for step, (sent, _) in enumerate(steps):
            numbers = sum(call.elements for call in sent)
            place = f"{step} (without gradients)" if step in on_rank.WITHOUT else str(step)
            assert len(sent) == 1 and numbers == 1, (
                f"step {place}: {len(sent)} messages with {numbers} numbers, not one with one"
            )
        assert steps[-1][1] == 0, "every step makes a process group; one for all steps is enough"
        assert left == 0, f"ten steps leave {left} more tensors in memory, they should leave none"
