"""Checks of my_vocabulary: an embedding and a loss over a split vocabulary."""

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE
from course.checks.lab_11 import on_rank_vocabulary as on_rank
from course.core import words

MOST = 6  # numbers per token that may travel, in all


def gradient_of_loss(targets: Tensor, logits: Tensor) -> Tensor:
    """The gradient of the mean cross-entropy by all logits."""
    logits = logits.clone().requires_grad_()
    functional.cross_entropy(logits, targets).backward()
    return logits.grad


class TestMyVocabulary:
    """Exercise 2: a vocabulary split over ranks."""

    def embeddings(self, ranks: Callable) -> list[tuple[int, int, tuple]]:
        """(world size, rank, what it found), for tokens in two dimensions, or in one."""
        return [
            (world_size, rank, found)
            for world_size, shape in ((1, (50,)), (3, (5, 10)))
            for rank, found in enumerate(ranks(world_size, on_rank.embedded, shape))
        ]

    @hint("what does a rank add to the sum for a token whose row is elsewhere?")
    def test_embed(self, ranks):
        """Every rank gets the whole embedding of every token."""
        tokens, table, _ = on_rank.example()
        for world_size, rank, (got, _) in self.embeddings(ranks):
            shape = (50, 3) if world_size == 1 else (5, 10, 3)
            self.same_embeddings(got, functional.embedding(tokens, table).view(shape), rank)

    def same_embeddings(self, got: Tensor, wanted: Tensor, rank: int) -> None:
        """Hold embeddings to those of a whole table."""
        assert got.shape == wanted.shape, (
            f"the embeddings have the shape {tuple(got.shape)} instead of {tuple(wanted.shape)}"
        )
        wrong = float((got - wanted).abs().max())
        assert wrong < CLOSE, f"the embeddings are off by {wrong:.2g} on rank {rank}"

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
                f"{words.plural(world_size, 'rank')}: the gradient of rank {rank}'s rows "
                f"is off by {wrong:.2g}"
            )

    def losses(self, ranks: Callable, groups: int, scale: float, sizes: tuple[int, ...]) -> None:
        """Hold losses and gradients to those of torch's cross-entropy on whole logits."""
        for world_size in sizes:
            size = world_size // groups
            found = ranks(world_size, on_rank.lost, groups, scale)
            for rank, (loss, gradient, kept) in enumerate(found):
                assert kept, f"rank {rank}'s logits are changed by the loss"
                targets, _, logits = on_rank.example(rank // size, scale)
                wanted = functional.cross_entropy(logits, targets).item()
                assert abs(loss - wanted) < CLOSE * max(1.0, wanted), (
                    f"{words.plural(world_size, 'rank')}: the loss on rank {rank} is {loss:.5g} "
                    f"instead of {wanted:.5g}"
                )
                share = gradient_of_loss(targets, logits).chunk(size, 1)[rank % size]
                assert gradient is not None, f"rank {rank}'s logits get no gradient"
                wrong = float((gradient - share).abs().max())
                assert wrong < CLOSE, (
                    f"{words.plural(world_size, 'rank')}: the gradient of rank {rank}'s logits "
                    f"is off by {wrong:.2g}"
                )

    @hint(
        "the loss of a token needs two numbers, each a sum over all ranks: which? "
        "And what should the mean be taken over?"
    )
    def test_loss(self, ranks):
        """Loss and gradients are those of torch's cross-entropy on whole logits."""
        self.losses(ranks, 1, 1.0, (1, 3))

    @hint("exp(100) is infinite in float32: whose largest logit must all ranks subtract?")
    def test_large_logits(self, ranks):
        """Logits of several hundred give a finite and right loss."""
        self.losses(ranks, 1, 300.0, (2,))

    @hint("which argument of all_reduce says who takes part? There may be more than one call")
    def test_group(self, ranks):
        """Two groups of two ranks each, with tokens of their own, do not mix."""
        self.losses(ranks, 2, 1.0, (4,))
        for rank, (got, _) in enumerate(ranks(4, on_rank.embedded, (5, 10), 2)):
            tokens, table, _ = on_rank.example(rank // 2)
            self.same_embeddings(got, functional.embedding(tokens, table).view(5, 10, -1), rank)

    @hint("a sum of exponentials is one number per token, a row of logits is a whole vocabulary")
    def test_traffic(self, ranks):
        """At most 6 numbers per token travel, however large the vocabulary is."""
        for rank, calls in enumerate(ranks(2, on_rank.messages)):
            uncounted = [c.name for c in calls if c.name == "new_group" or "object" in c.name]
            assert not uncounted, f"rank {rank} calls {uncounted[0]}; tensors and `group` will do"
            sent, allowed = sum(call.elements for call in calls), MOST * on_rank.TOKENS
            assert sent <= allowed, (
                f"rank {rank} sends {sent} numbers for {on_rank.TOKENS} tokens, "
                f"at most {allowed} may travel"
            )
