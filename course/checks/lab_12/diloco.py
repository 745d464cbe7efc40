"""Checks of `diloco`, exercise 2 of lab 12."""

from collections.abc import Callable

from course.checks.lab_12 import any_simulated
from course.checks.lab_12 import on_rank_training as on_rank
from course.checks.lab_12.any_training import AnyTraining
from course.checks.tools.hint import Undecided, hint
from course.checks.tools.reference import CLOSE


class TestDiloco(AnyTraining):
    """Exercise 2: how far the ranks have moved is the gradient of an outer optimizer."""

    outer = (0.7, 0.9)

    def compare(self, ranks: Callable, *case: object, **options: object) -> None:
        """As for local SGD, but nothing is judged where a part of it is wrong by itself."""
        try:
            super().compare(ranks, *case, **options)
        except AssertionError:
            if self.wrong_gradient(ranks):
                raise Undecided("first, outer_gradient() must be right: see its check") from None
            if self.wrong_step(ranks):
                raise Undecided("first, outer_step() must be right: see its check") from None
            raise

    def wrong_gradient(self, ranks: Callable) -> str:
        """How outer_gradient() is wrong, "" if it is not."""
        for world_size in (2, 3):
            for rank, (got, expected) in enumerate(ranks(world_size, on_rank.outer_gradient)):
                if len(got) != len(expected):
                    return f"the outer gradient has {len(got)} numbers for {len(expected)} weights"
                if not _apart(got, expected) < CLOSE:
                    return (
                        f"{world_size} ranks, of which rank r has moved the last weight up by "
                        f"about r + 1: on rank {rank} its outer gradient is {got[-1]:.4g}, "
                        f"not {expected[-1]:.4g}"
                    )
        return ""

    def wrong_step(self, ranks: Callable) -> str:
        """How outer_step() is wrong, "" if it is not."""
        for rate, momentum in ((0.7, 0.9), (0.5, 0.0), (1.0, 0.5)):
            ((moved, gradients),) = ranks(1, on_rank.outer_steps, 0, 4, rate, momentum)
            expected = any_simulated.nesterov(gradients, rate, momentum)
            for step, (got, right) in enumerate(zip(moved, expected, strict=True), start=1):
                off = _apart(got, right)
                if not off < CLOSE:
                    return (
                        f"rate {rate}, momentum {momentum}: after outer step {step} "
                        f"a weight is off by {off:.2g}"
                    )
        return ""

    @hint("If all ranks have moved up, in which direction does a gradient point that led there?")
    def test_outer_gradient(self, ranks):
        """outer_gradient() is the mean over the ranks of the common weights minus their own
        (2 and 3 ranks).
        """
        wrong = self.wrong_gradient(ranks)
        assert not wrong, wrong

    @hint("Do three steps on paper, with one weight and gradients of 1.")
    def test_outer_step(self, ranks):
        """outer_step() moves the model's weights as torch's SGD with Nesterov momentum does."""
        wrong = self.wrong_step(ranks)
        assert not wrong, wrong

    @hint("With rate 1 and momentum 0, the common weights become the mean of the ranks' weights.")
    def test_local_sgd(self, ranks):
        """With an outer rate of 1 and no momentum it is local SGD."""
        # Judged where a part is wrong, too: the hint fits.
        super().compare(ranks, 2, [("AdamW", "plain")], 2, 5, rate=1.0, momentum=0.0)


def _apart(got: list[float], expected: list[float]) -> float:
    """The largest difference of two rows of numbers; nan if one of them has a nan."""
    gaps = [abs(a - b) for a, b in zip(got, expected, strict=True)]
    return max(gaps) if all(gap == gap for gap in gaps) else float("nan")
