"""Checks of my_vocabulary: a loss over a split vocabulary."""

import math
from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from course.checks.lab_11 import on_rank_vocabulary as on_rank
from course.checks.tools.hint import Fault, hint
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
    """The gradient of the mean cross-entropy by all logits."""
    logits = logits.clone().requires_grad_()
    functional.cross_entropy(logits, targets).backward()
    return logits.grad


class TestMyVocabulary:
    """Exercise 2: a vocabulary split over ranks."""

    def losses(self, ranks: Callable, scale: float, size: int, groups: int = 1) -> None:
        """Hold losses and gradients to those of torch's cross-entropy on whole logits."""
        shown = f"groups of {words.plural(size, 'rank')}"
        targets, logits = on_rank.example(scale)
        expected = functional.cross_entropy(logits, targets).item()
        shares = gradient_of_loss(targets, logits).chunk(size, 1)
        results = ranks(size * groups, on_rank.lost, scale, groups)
        for rank, (loss, gradient, intact) in enumerate(results):
            assert intact, f"rank {rank}'s logits are changed by the loss"
            if not abs(loss - expected) < CLOSE * max(1.0, expected):
                fault = f"{shown}: the loss on rank {rank} is {loss:.5g} instead of {expected:.5g}"
                raise Fault(fault, LOSS if math.isfinite(loss) else LARGEST)
            assert gradient is not None, f"rank {rank}'s logits get no gradient"
            wrong = float((gradient - shares[rank % size]).abs().max())
            if not wrong < CLOSE:
                fault = f"the loss is right, but the gradient of rank {rank}'s logits is off by"
                raise Fault(f"{shown}: {fault} {wrong:.2g}", GRADIENT)

    @hint(LOSS)
    def test_loss(self, ranks):
        """Loss and gradients are those of torch's cross-entropy on whole logits."""
        self.losses(ranks, 1.0, 1)
        self.losses(ranks, 1.0, 3)

    @hint(LARGEST)
    def test_large_logits(self, ranks):
        """Logits of several hundred give a finite and right loss."""
        self.losses(ranks, 300.0, 2)

    @hint("Which argument of a collective says who takes part? There may be more than one call.")
    def test_group(self, ranks):
        """Two groups of two ranks do not mix: every call is for the ranks of the group only."""
        for rank, (calls, _) in enumerate(ranks(4, on_rank.messages, 2)):
            first = rank // 2 * 2
            for name, _, members in calls:
                assert set(members) <= {first, first + 1}, (
                    f"the group of rank {rank} has the ranks {first} and {first + 1}, but it calls "
                    f"{name} for {words.plural(len(members), 'rank')}: {members}"
                )
        self.losses(ranks, 1.0, 2, groups=2)

    @hint("A sum of exponentials is one number per token, a row of logits is a whole vocabulary.")
    def test_traffic(self, ranks):
        """At most 6 numbers per token travel, however large the vocabulary is."""
        for rank, (calls, made) in enumerate(ranks(2, on_rank.messages)):
            assert not made, f"rank {rank} makes a process group; the one that it is given will do"
            sent, allowed = sum(elements for _, elements, _ in calls), MOST * on_rank.TOKENS
            assert sent <= allowed, (
                f"rank {rank} sends {sent} numbers for {on_rank.TOKENS} tokens, "
                f"at most {allowed} may travel"
            )
