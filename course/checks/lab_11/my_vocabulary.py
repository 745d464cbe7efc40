"""Checks of my_vocabulary: a loss over a split vocabulary."""

import math
from collections.abc import Callable, Iterator

from torch import Tensor
from torch.nn import functional

from course.checks.lab_11 import on_rank_vocabulary as on_rank
from course.checks.tools.hint import Failure, hint
from course.checks.tools.reference import CLOSE
from course.core import words

MOST = 6  # numbers per token that may travel, in all
LOSS = (
    "The loss of a token needs one largest logit and two sums, all over all ranks: which? "
    "What does a rank add to them that does not hold the target?"
)
LARGEST = "exp(100) is infinite in float32: whose largest logit must all ranks subtract?"
GRADIENT = (
    "Autograd does not see what a collective does. Are all sums made by `Leave`, and is the "
    "largest logit detached?"
)


def gradient_of_loss(targets: Tensor, logits: Tensor) -> Tensor:
    """The gradient of a multiple of the mean cross-entropy by all logits."""
    logits = logits.clone().requires_grad_()
    (on_rank.FACTOR * functional.cross_entropy(logits, targets)).backward()
    return logits.grad


def members_of(groups: list[list[int]]) -> Iterator[tuple[list[int], int, int]]:
    """Each group of ranks, with each number within it and the rank that has it."""
    for group in groups:
        for number, rank in enumerate(group):
            yield group, number, rank


class TestMyVocabulary:
    """Exercise 2: a vocabulary split over ranks."""

    def losses(self, ranks: Callable, scale: float, groups: list[list[int]]) -> None:
        """Hold losses and gradients to those of torch's cross-entropy on whole logits."""
        targets, logits = on_rank.example(scale)
        expected = functional.cross_entropy(logits, targets).item()
        gradients = gradient_of_loss(targets, logits)
        results = ranks(sum(map(len, groups)), on_rank.lost, scale, groups)
        for group, number, rank in members_of(groups):
            loss, gradient, intact = results[rank]
            shown = f"the group of ranks {group}"
            assert intact, f"rank {rank}'s logits are changed by the loss"
            if not abs(loss - expected) < CLOSE * max(1.0, expected):
                fault = f"{shown}: the loss on rank {rank} is {loss:.5g} instead of {expected:.5g}"
                raise Failure(fault, LOSS if math.isfinite(loss) else LARGEST)
            assert gradient is not None, f"rank {rank}'s logits get no gradient"
            wrong = float((gradient - gradients.chunk(len(group), 1)[number]).abs().max())
            if not wrong < CLOSE:
                fault = f"the loss is right, but the gradient of rank {rank}'s logits is off by"
                raise Failure(f"{shown}: {fault} {wrong:.2g}", GRADIENT)

    @hint(LOSS)
    def test_loss(self, ranks):
        """Loss and gradients are those of torch's cross-entropy on whole logits."""
        self.losses(ranks, 1.0, [[0]])
        self.losses(ranks, 1.0, [[0, 1, 2]])

    @hint(LARGEST)
    def test_large_logits(self, ranks):
        """Logits of several hundred give a finite and right loss."""
        self.losses(ranks, 300.0, [[0, 1]])

    @hint("Which argument of a collective says who takes part? There may be more than one call.")
    def test_group(self, ranks):
        """Two groups of two ranks do not mix: every call is for the ranks of the group only."""
        for groups in ([[0, 1], [2, 3]], [[0, 2], [1, 3]]):
            results = ranks(4, on_rank.messages, groups)
            for group, _, rank in members_of(groups):
                for name, _, members in results[rank][0]:
                    assert set(members) <= set(group), (
                        f"rank {rank}'s group has the ranks {group}, but it calls {name} "
                        f"for {words.plural(len(members), 'rank')}: {members}"
                    )
            self.losses(ranks, 1.0, groups)

    @hint("A sum of exponentials is one number per token, a row of logits is a whole vocabulary.")
    def test_traffic(self, ranks):
        """At most 6 numbers per token travel, however large the vocabulary is."""
        for rank, (calls, made) in enumerate(ranks(2, on_rank.messages, [[0, 1]])):
            assert not made, f"rank {rank} makes a process group; the one that it is given will do"
            sent, allowed = sum(elements for _, elements, _ in calls), MOST * on_rank.TOKENS
            assert sent <= allowed, (
                f"rank {rank} sends {sent} numbers for {on_rank.TOKENS} tokens, "
                f"at most {allowed} may travel"
            )
