"""Checks of my_router: which choices have room, and the balance loss."""

import torch
from torch import Tensor

from course.checks.lab_13b import on_rank_router as on_rank
from course.checks.lab_13b.any_group import stay_in_their_groups
from course.checks.tools.hint import Failure, Undecided, hint
from course.checks.tools.reference import CLOSE
from course.core import words

ORDER = (
    "All first choices come before any second one: lay the columns of `chosen` end to end, "
    "not its rows. And put the answers back in the shape of `chosen`."
)
SHARES = "f is the share of *all choices* that fall on an expert: of the tokens times k."
EVERYONE = (
    "The mean of products is not the product of means: f must be that of the tokens of all ranks."
)
SCALE = "With E experts, an even load gives E x E x (1/E) x (1/E) = 1."
GRADIENT = "The probabilities keep their gradient; only the counts have none."


def by_hand(chosen: Tensor, capacity: int) -> Tensor:
    """Which choices have room, one after another."""
    room: dict[int, int] = {}
    mask = torch.zeros_like(chosen, dtype=torch.bool)
    for choice in range(chosen.shape[1]):
        for token in range(len(chosen)):
            expert = int(chosen[token, choice])
            room[expert] = room.get(expert, capacity) - 1
            mask[token, choice] = room[expert] >= 0
    return mask


class TestMyRouter:
    """Exercise 1: which choices have room, and a loss for an even load."""

    def keeps(self, alone, chosen: Tensor, experts: int, capacity: int) -> None:
        """Hold `keep` to what is counted by hand."""
        got, expected = alone(on_rank.keep, chosen, experts, capacity), by_hand(chosen, capacity)
        case = f"choices {chosen.tolist()}, room for {capacity}"
        assert isinstance(got, Tensor) and got.shape == expected.shape, (
            f"{case}: it should return a tensor of the shape {tuple(expected.shape)}, "
            f"True or False for each choice"
        )
        got = got.bool()
        if torch.equal(got, expected):
            return
        if torch.equal(got.sum(), expected.sum()):
            raise Failure(f"{case}: it keeps {got.tolist()}, not {expected.tolist()}", ORDER)
        raise AssertionError(f"{case}: it keeps {got.tolist()}, not {expected.tolist()}")

    @hint("For each choice, how many for the same expert came before it? Fewer than `capacity`?")
    def test_room(self, alone):
        """An expert takes as many choices as it has room for, and drops the rest."""
        self.keeps(alone, torch.tensor([[0], [1], [0], [0], [1], [3]]), 4, 2)
        self.keeps(alone, torch.tensor([[2], [2], [2]]), 3, 1)
        self.keeps(alone, torch.tensor([[0, 1], [1, 0]]), 2, 2)

    @hint(ORDER)
    def test_order(self, alone):
        """All first choices come before any second choice, and tokens in their order."""
        self.keeps(alone, torch.tensor([[0, 1], [1, 0], [0, 2]]), 3, 2)
        for seed in range(3):
            draw = torch.Generator().manual_seed(seed)
            chosen = torch.rand(12, 5, generator=draw).topk(3, dim=-1).indices
            self.keeps(alone, chosen, 5, 4)

    @hint(EVERYONE)
    def test_balance(self, ranks):
        """The mean of the ranks' losses is the loss of all their tokens, for 1, 2 and 3 ranks."""
        for world_size in (1, 2, 3):
            expected, _ = on_rank.balanced_alone(list(range(world_size)))
            losses = [loss for loss, _ in ranks(world_size, on_rank.balanced)]
            got = sum(losses) / world_size
            if abs(got - expected) > CLOSE:
                text = (
                    f"{words.plural(world_size, 'rank')}: the mean loss is {got:.4g}, "
                    f"not {expected:.4g}"
                )
                raise Failure(text, self.why(got, expected, world_size))

    def why(self, got: float, expected: float, world_size: int) -> str:
        """The hint for a loss that is wrong."""
        if abs(got / on_rank.CHOICES - expected) < CLOSE:
            return SHARES
        if world_size > 1:
            return EVERYONE
        return SCALE

    @hint(GRADIENT)
    def test_gradient(self, ranks):
        """The gradient makes the probabilities of popular experts smaller, as in one process."""
        for world_size in (1, 3):
            whole, expected = on_rank.balanced_alone(list(range(world_size)))
            results = ranks(world_size, on_rank.balanced)
            if abs(sum(loss for loss, _ in results) / world_size - whole) > CLOSE:
                raise Undecided("the loss is not right yet: see the check of the loss")
            for rank, (_, gradient) in enumerate(results):
                mine = expected.chunk(world_size)[rank] * world_size
                off = float((gradient - mine).abs().max())
                assert off < CLOSE, (
                    f"{words.plural(world_size, 'rank')}: the gradient of rank {rank}'s "
                    f"probabilities is off by {off:.2g}"
                )

    @hint("Which argument of a collective says who takes part?")
    def test_group(self, ranks):
        """Two groups of two ranks do not mix."""
        stay_in_their_groups(ranks(4, on_rank.messages, 2))

    @hint("What every rank needs of the others is one count for each expert.")
    def test_traffic(self, ranks):
        """At most two numbers for each expert travel, however many tokens there are."""
        for rank, calls in enumerate(ranks(2, on_rank.messages)):
            sent = sum(elements for _, elements, _ in calls)
            assert sent <= 2 * on_rank.EXPERTS, (
                f"rank {rank} sends {sent} numbers; one for each of {on_rank.EXPERTS} experts "
                "is enough"
            )
