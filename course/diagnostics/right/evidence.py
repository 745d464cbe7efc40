"""Put together what all ranks report: what belongs to what, and what ties the ranks."""

from collections.abc import Iterator, Sequence
from functools import cached_property

from course.diagnostics.numerics.training import (
    BackwardPass,
    LoaderPass,
    OptimizerReport,
    OptimizerStep,
    TrainingReport,
)
from course.diagnostics.right.gradient_kinds import MEAN, OTHER, GradientKind
from course.diagnostics.right.optimizer_on_ranks import OptimizerOnRanks
from course.diagnostics.right.thresholds import MAJORITY

NO_STEP = "no step of an optimizer was seen"


class Evidence:
    """The reports of all ranks, in order."""

    def __init__(self, ranks: Sequence[TrainingReport]) -> None:
        self.ranks = sorted(ranks, key=lambda rank: rank.rank)
        self.count = len(self.ranks)
        self.rank_ids = [rank.rank for rank in self.ranks]

    @cached_property
    def optimizers(self) -> list[OptimizerOnRanks]:
        """The optimizers that all ranks have in common."""
        return [
            OptimizerOnRanks(on_rank)
            for on_rank in zip(*[rank.optimizers for rank in self.ranks], strict=False)
            if len({_form(optimizer) for optimizer in on_rank}) == 1
        ]

    @cached_property
    def step_rows(self) -> list[tuple[OptimizerStep, ...]]:
        """The steps of all optimizers: a row has the same step of each rank."""
        return [row for optimizer in self.optimizers for row in optimizer.steps]

    @cached_property
    def used(self) -> list[GradientKind]:
        """What each gradient was when its optimizer used it."""
        return [
            step.used[p]
            for optimizer in self.optimizers
            for step in optimizer.kinds
            for p in optimizer.has
        ]

    @property
    def steps(self) -> int:
        """The number of steps that the first optimizer took on all ranks in the window."""
        return len(self.optimizers[0].steps) if self.optimizers else 0

    @cached_property
    def is_split(self) -> str:
        """Why weights and samples cannot be compared; "" if they can.

        Each rank has a part of the model, so equal samples are right and weights differ.
        """
        first = self.ranks[0]
        if any(rank.tensor_parallel for rank in self.ranks):
            return "the layers are split over the ranks"
        if any(rank.sends.get("point") for rank in self.ranks) and not first.wrapped:
            return "the ranks pass on activations, as in a pipeline"
        passes = sum(
            len(step.latest)
            for optimizer in self.optimizers
            for step in optimizer.on_rank[0].watched
        )
        if not first.wrapped and first.sends.get("forward", 0) > MAJORITY * max(1, passes):
            return "the ranks talk while they compute forward, as if each had a part of the model"
        if len({len(rank.optimizers) for rank in self.ranks}) > 1 or (
            len(self.optimizers) < len(first.optimizers)
        ):
            return "the ranks have different models or optimizers"
        return ""

    @cached_property
    def is_sharded(self) -> bool:
        """Whether each rank keeps a shard of the weights (`fully_shard`)."""
        return any(optimizer.on_rank[0].sharded for optimizer in self.optimizers)

    @cached_property
    def averages(self) -> bool:
        """Whether gradients were seen to be combined."""
        return any(
            optimizer.mostly(MEAN) or optimizer.mostly(OTHER) for optimizer in self.optimizers
        )

    @cached_property
    def averages_weights(self) -> bool:
        """Whether weights become equal again between steps, as in local SGD."""
        return any(optimizer.meets for optimizer in self.optimizers)

    @cached_property
    def is_tied(self) -> bool:
        """Whether something ties the ranks, so that they should do the same."""
        if self.is_split:
            return False
        return bool(self.ranks[0].wrapped) or self.is_sharded or self.averages

    @property
    def why_untied(self) -> str:
        """Why the ranks need not do the same, if nothing ties them."""
        return self.is_split or "nothing was seen that ties the ranks"

    @property
    def why_no_steps(self) -> str:
        """Why no steps are compared, if none was seen or nothing ties the ranks."""
        return self.why_untied if self.steps else NO_STEP

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """All pairs of ranks, by their places."""
        for first in range(self.count):
            for second in range(first + 1, self.count):
                yield first, second

    def training_passes(self, place: int) -> list[LoaderPass]:
        """The passes over loaders that fed the training of a rank."""
        loader_passes = self.ranks[place].loader_passes
        return [loader_pass for loader_pass in loader_passes if loader_pass.batches]

    @property
    def training_rows(self) -> list[tuple[LoaderPass, ...]]:
        """The passes over loaders that fed the training: a row has the same pass of each rank."""
        return list(zip(*map(self.training_passes, range(self.count)), strict=False))

    @property
    def first_training_pass(self) -> LoaderPass | None:
        """The pass over a loader that fed the first steps of the first rank."""
        return next(iter(self.training_passes(0)), None)

    def backward_passes(self, row: Sequence[OptimizerStep]) -> list[tuple[BackwardPass, ...]]:
        """The backward passes of a step: a row has the same pass of each rank."""
        return list(zip(*[step.latest for step in row], strict=False))

    def changed(self, since: Sequence[int], until: Sequence[int]) -> tuple[str, list[int]]:
        """The last line that changed weights on only some ranks, and these; "" if none did.

        Only changes between the backward passes `since` and `until` count, one of each per rank.
        """
        spans = list(zip(self.ranks, since, until, strict=True))
        by_rank = [[c.line for c in rank.changes if a <= c.passes < b] for rank, a, b in spans]
        for lines in by_rank:
            for line in reversed(lines):
                ranks = [
                    rank for rank, has in zip(self.rank_ids, by_rank, strict=True) if line in has
                ]
                if len(ranks) < self.count:
                    return line, ranks
        return "", []

    def by_rank(self, values: Sequence[object]) -> str:
        """The value of each rank, in words."""
        pairs = zip(self.rank_ids, values, strict=True)
        return ", ".join(f"rank {rank}: {value}" for rank, value in pairs)

    def unseen(self, look: str) -> str:
        """Why a look failed, by the first rank on which it did; "" if it did not."""
        return next((rank.unseen[look] for rank in self.ranks if look in rank.unseen), "")


def _form(optimizer: OptimizerReport) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """How many numbers each of its parameters has, and the shapes; shards may be uneven."""
    return tuple(optimizer.shapes), () if optimizer.sharded else tuple(optimizer.counts)


def listed(ranks: Sequence[int]) -> str:
    """Ranks in words: "rank 1", "ranks 0 and 2"."""
    return f"rank{'s' if len(ranks) > 1 else ''} {' and '.join(map(str, ranks))}"


def odd_one(values: Sequence[object], ranks: Sequence[int]) -> int | None:
    """The rank whose value is unlike all others; with two ranks, there is none."""
    for place, value in enumerate(values):
        others = [other for at, other in enumerate(values) if at != place]
        if len(others) > 1 and len(set(others)) == 1 and value != others[0]:
            return ranks[place]
    return None
