"""Checks of my_vocabulary: an embedding and a loss over a split vocabulary."""

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE
from course.checks.lab_11 import on_rank_vocabulary as on_rank

MOST = 6  # numbers per token that may travel, in all


def gradient_of_loss(targets: Tensor, logits: Tensor) -> Tensor:
    """The gradient of the mean cross-entropy by all logits."""
    logits = logits.clone().requires_grad_()
    functional.cross_entropy(logits, targets).backward()
    return logits.grad


class TestMyVocabulary:
    """Exercise 2: a vocabulary split over ranks."""

    def embeddings(self, ranks: Callable) -> list[tuple[int, int, tuple]]:
        """(world size, rank, what it found) for several world sizes."""
        return [
            (world_size, rank, found)
            for world_size in (1, 2, 3)
            for rank, found in enumerate(ranks(world_size, on_rank.embedded))
        ]

    @hint("what does a rank add to the sum for a token whose row is elsewhere?")
    def test_embed(self, ranks):
        """Every rank gets the whole embedding of every token."""
        tokens, table, _ = on_rank.example()
        wanted = functional.embedding(tokens, table).view(5, 10, -1)
        for world_size, rank, (got, _) in self.embeddings(ranks):
            assert got.shape == wanted.shape, f"the shape is {tuple(got.shape)}"
            wrong = float((got - wanted).abs().max())
            assert wrong < CLOSE, (
                f"{world_size} ranks: the embeddings are off by {wrong:.2g} on rank {rank}"
            )

    @hint("a collective of torch.distributed passes no gradient on; which of your operators does?")
    def test_embed_gradient(self, ranks):
        """Each rank's rows of the table get the gradient that they have in a whole table."""
        tokens, table, _ = on_rank.example()
        table = table.clone().requires_grad_()
        (functional.embedding(tokens, table) * on_rank.upstream()).sum().backward()
        for world_size, rank, (_, got) in self.embeddings(ranks):
            wanted = table.grad.chunk(world_size)[rank]
            wrong = float((got - wanted).abs().max())
            assert wrong < CLOSE * 10, (
                f"{world_size} ranks: the gradient of rank {rank}'s rows is off by {wrong:.2g}"
            )

    def losses(self, ranks: Callable, groups: int, scale: float, sizes: tuple[int, ...]) -> None:
        """Hold losses and gradients to those of torch's cross-entropy on whole logits."""
        for world_size in sizes:
            size = world_size // groups
            for rank, (loss, gradient) in enumerate(ranks(world_size, on_rank.lost, groups, scale)):
                targets, _, logits = on_rank.example(rank // size, scale)
                wanted = functional.cross_entropy(logits, targets).item()
                assert abs(loss - wanted) < CLOSE * max(1.0, wanted), (
                    f"{world_size} ranks: the loss on rank {rank} is {loss:.5g} "
                    f"instead of {wanted:.5g}"
                )
                share = gradient_of_loss(targets, logits).chunk(size, 1)[rank % size]
                assert gradient is not None, f"rank {rank}'s logits get no gradient"
                wrong = float((gradient - share).abs().max())
                assert wrong < CLOSE, (
                    f"{world_size} ranks: the gradient of rank {rank}'s logits "
                    f"is off by {wrong:.2g}"
                )

    @hint(
        "the loss of a token needs two numbers, each a sum over all ranks: which? "
        "And what should the mean be taken over?"
    )
    def test_loss(self, ranks):
        """Loss and gradients are those of torch's cross-entropy on whole logits."""
        self.losses(ranks, 1, 1.0, (1, 2, 3, 4))

    @hint("exp(100) is infinite in float32: whose largest logit must all ranks subtract?")
    def test_large_logits(self, ranks):
        """Logits of several hundred give a finite and right loss."""
        self.losses(ranks, 1, 300.0, (2,))

    @hint("which argument of all_reduce says who takes part? There may be more than one call")
    def test_group(self, ranks):
        """Two groups of two ranks each, with tokens of their own, do not mix."""
        self.losses(ranks, 2, 1.0, (4,))

    @hint("a sum of exponentials is one number per token, a row of logits is a whole vocabulary")
    def test_traffic(self, ranks):
        """At most 6 numbers per token travel, however large the vocabulary is."""
        for rank, calls in enumerate(ranks(2, on_rank.messages)):
            sent = sum(call.elements for call in calls)
            assert sent <= MOST * on_rank.TOKENS, (
                f"rank {rank} sends {sent} numbers for {on_rank.TOKENS} tokens"
            )
