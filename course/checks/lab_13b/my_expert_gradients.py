"""Checks of my_expert_gradients: who averages what, and by which count."""

import torch
from torch import Tensor

from course.checks.lab_13b import on_rank_expert_gradients as on_rank
from course.checks.tools.hint import Failure, hint
from course.checks.tools.reference import CLOSE

MESHES = ((1, 1), (2, 1), (2, 2), (4, 2), (6, 3))  # ranks, copies
COUNT = (
    "Backward has brought an expert the gradients of all ranks' tokens that it has seen. "
    "So the losses of how many ranks are in the sum over its copies?"
)
GROUP = "Expert 0 and expert 4 have nothing in common: only ranks that hold the same expert add up."
ALONE = "The copies of an expert have seen other tokens: who adds up their gradients?"
EVERYONE = "The router is the same on all ranks, and each of them has a gradient of its own tokens."


class TestMyExpertGradients:
    """Exercise 3: who averages which gradients, by which count."""

    def reference(
        self, name: str, rank: int, ranks: int, copies: int, idle: tuple[int, ...] = ()
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The right gradient of a parameter, and what it would be after a mistake, by its hint."""
        first, held, same = on_rank.place(rank, ranks, copies)
        model = on_rank.SmallMixture(first, held)
        shape = model.get_parameter(name).shape
        is_expert = ".experts." in name

        def added(members) -> Tensor:
            gradients = [on_rank.gradient(name, member, shape, idle) for member in members]
            return sum((g for g in gradients if g is not None), torch.zeros(shape))

        if not is_expert:
            total = added(range(ranks))
            return total / ranks, {}
        total, own = added(same), added([rank])
        mistakes = {COUNT: total / len(same), ALONE: own}
        return total / ranks, mistakes

    def compare(self, results: list[dict], ranks: int, copies: int, expert: bool, idle=()) -> None:
        """Hold the gradients of experts, or of all other parameters, to sums by hand."""
        for rank, result in enumerate(results):
            for name, got in result.items():
                if (".experts." in name) != expert:
                    continue
                right, mistakes = self.reference(name, rank, ranks, copies, idle)
                got = torch.zeros_like(right) if got is None else got
                if float((got - right).abs().max()) < CLOSE:
                    continue
                usual = GROUP if expert else EVERYONE
                near = [
                    hint
                    for hint, wrong in mistakes.items()
                    if copies < ranks and float((got - wrong).abs().max()) < CLOSE
                ]
                raise Failure(
                    f"{ranks} ranks, {copies} copies of each expert: the gradient of {name} on "
                    f"rank {rank} is off by {float((got - right).abs().max()):.2g}",
                    near[0] if near else usual,
                )

    @hint(EVERYONE)
    def test_shared_by_all(self, ranks):
        """What all ranks hold is averaged over all of them."""
        for world_size, copies in MESHES:
            results = ranks(world_size, on_rank.averaged, copies)
            self.compare(results, world_size, copies, expert=False)

    @hint(GROUP)
    def test_experts(self, ranks):
        """An expert's gradients are added up over its copies, and divided by the number of all
        ranks.
        """
        for world_size, copies in MESHES:
            results = ranks(world_size, on_rank.averaged, copies)
            self.compare(results, world_size, copies, expert=True)

    @hint("An expert without a token has the gradient None, and its copy waits for a tensor.")
    def test_no_token(self, ranks):
        """An expert that no token has reached on one rank gets its copy's gradient."""
        results = ranks(4, on_rank.averaged, 2, idle=(1,))
        self.compare(results, 4, 2, expert=True, idle=(1,))
        self.compare(ranks(4, on_rank.averaged, 2, idle=(1, 3)), 4, 2, expert=True, idle=(1, 3))

    @hint("What leaves the copies of an expert that others could use?")
    def test_traffic(self, ranks):
        """Each gradient travels once, those of experts only among their copies."""
        for rank, calls in enumerate(ranks(4, on_rank.messages, 2)):
            first, held, _ = on_rank.place(rank, 4, 2)
            shapes = dict(on_rank.SmallMixture(first, held).named_parameters())
            router = sum(p.numel() for name, p in shapes.items() if ".experts." not in name)
            wide = sum(elements for _, elements, members in calls if len(members) > 2)
            total = sum(elements for _, elements, _ in calls)
            most = sum(parameter.numel() for parameter in shapes.values())
            assert wide <= router, (
                f"rank {rank} sends {wide} numbers to all ranks; only {router} are held by all"
            )
            assert total <= most, f"rank {rank} sends {total} numbers; its gradients are {most}"
