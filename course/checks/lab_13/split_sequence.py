"""Checks of split_sequence: which tokens a rank holds, and its part of the loss."""

from collections.abc import Callable

import torch

from course.checks.lab_13 import on_rank_split_sequence as on_rank
from course.checks.tools.hint import Failure, Undecided, hint
from course.checks.tools.reference import CLOSE
from course.core import words
from course.given.partial_attention import computed

SHAPES = [(8, 1), (8, 2), (24, 3), (32, 4), (48, 8)]
MEAN = (
    "DDP divides the sum of the ranks' gradients by their number. "
    "By what must this rank's sum of losses be multiplied and divided before?"
)
GRADIENT = "Autograd does not see what a collective does: send a count, not the loss."


class TestSplitSequence:
    """Exercise 2: tokens in zigzag, and the loss of a part."""

    @hint("How many pieces are there for N ranks, and how many tokens has a piece?")
    def test_every_place(self, alone):
        """All ranks have equally many tokens, and every token is on exactly one."""
        for (length, ranks), places in zip(SHAPES, self.places(alone), strict=True):
            shown = f"{length} tokens, {words.plural(ranks, 'rank')}"
            assert tuple(places.shape) == (ranks, length // ranks), (
                f"{shown}: the shape is {tuple(places.shape)} instead of {(ranks, length // ranks)}"
            )
            order = places.flatten().sort().values.tolist()
            assert order == list(range(length)), f"{shown}: the places are, sorted, {order}"

    @hint("The first piece sees least and the last one sees most: who should hold both?")
    def test_balance(self, alone):
        """Under the causal mask, all ranks compute the same number of scores, and few."""
        for (length, ranks), places in zip(SHAPES, self.places(alone), strict=True):
            if tuple(places.shape) != (ranks, length // ranks):
                raise Undecided("the places have the wrong shape")
            work = [sum(computed(mine, theirs) for theirs in places) for mine in places]
            most = (length // ranks) ** 2 * (ranks + 1) // 2
            assert max(work) <= most, (
                f"{length} tokens, {words.plural(ranks, 'rank')}: the ranks compute {work} scores, "
                f"and in zigzag none computes more than {most}"
            )

    @hint(MEAN)
    def test_mean(self, ranks):
        """Averaged over the ranks, the losses are the mean loss of all tokens that count."""
        for size, counting in ((1, 20), (3, 20), (4, 10)):
            if wrong := self.mean(ranks, size, counting):
                raise Failure(wrong, MEAN)

    @hint(GRADIENT)
    def test_gradient(self, ranks):
        """Averaged over the ranks, the gradients are those of that mean."""
        for size, counting in ((1, 20), (3, 20), (4, 10)):
            if self.mean(ranks, size, counting):
                raise Undecided("the mean is not right yet")
            shares = on_rank.whole(counting)[1].chunk(size, 1)
            for rank, (_, gradient, _) in enumerate(ranks(size, on_rank.lost, counting)):
                assert gradient is not None, f"rank {rank}'s logits get no gradient"
                wrong = float((gradient / size - shares[rank]).abs().max())
                assert wrong < CLOSE, (
                    f"{words.plural(size, 'rank')}: the losses are right, but after DDP's average "
                    f"the gradient of rank {rank}'s logits is off by {wrong:.2g}"
                )

    @hint("What the ranks do not know of each other is one number.")
    def test_traffic(self, ranks):
        """The loss sends a few numbers, not logits or targets."""
        for rank, sent in enumerate(ranks(2, on_rank.messages)):
            assert sent <= 4, f"rank {rank} sends {sent} numbers for its loss"

    def mean(self, ranks: Callable, size: int, counting: int) -> str:
        """How the ranks' average differs from the mean loss of one process; "" if it does not."""
        expected, shown = on_rank.whole(counting)[0], words.plural(size, "rank")
        results = ranks(size, on_rank.lost, counting)
        for rank, (_, _, intact) in enumerate(results):
            if not intact:
                return f"rank {rank}'s logits or targets are changed by the loss"
        average = float(torch.tensor([loss for loss, _, _ in results]).mean())
        if abs(average - expected) < CLOSE:
            return ""
        return f"{shown}: the average of the losses is {average:.5g} instead of {expected:.5g}"

    def places(self, alone: Callable) -> list[torch.Tensor]:
        """What zigzag returns for each of the shapes."""
        return alone(on_rank.places, SHAPES)
