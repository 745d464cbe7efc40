"""Line up the reports of all ranks, and find out what ties the ranks together."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations

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
    """The reports of all ranks, in the order of the ranks."""

    def __init__(self, reports: Sequence[TrainingReport]) -> None:
        self.reports = sorted(reports, key=lambda report: report.rank)
        self.world_size = len(self.reports)
        self.ranks = [report.rank for report in self.reports]

    @cached_property
    def optimizers(self) -> list[OptimizerOnRanks]:
        """The optimizers that have the same parameters on all ranks."""
        return [
            OptimizerOnRanks(on_rank)
            for on_rank in zip(*[report.optimizers for report in self.reports], strict=False)
            if len({_shapes(optimizer) for optimizer in on_rank}) == 1
        ]

    @cached_property
    def steps_on_ranks(self) -> list[tuple[OptimizerStep, ...]]:
        """The steps of all optimizers, each as every rank took it."""
        return [step for optimizer in self.optimizers for step in optimizer.steps]

    @cached_property
    def used_kinds(self) -> list[GradientKind]:
        """The kind of each gradient in each sampled step, when its optimizer used it."""
        return [
            step.used[param_index]
            for optimizer in self.optimizers
            for step in optimizer.kinds
            for param_index in optimizer.trained
        ]

    @property
    def step_count(self) -> int:
        """The number of watched steps that all ranks took with the first optimizer."""
        return len(self.optimizers[0].steps) if self.optimizers else 0

    @cached_property
    def why_split(self) -> str:
        """Why the ranks seem to hold different parts of a model; "" if they do not.

        Then equal samples are right and weights differ, so neither is compared.
        """
        first = self.reports[0]
        if any(report.tensor_parallel for report in self.reports):
            return "the layers are split over the ranks"
        if any(report.sends.get("point") for report in self.reports) and not first.wrapped:
            return "the ranks pass on activations, as in a pipeline"
        passes = sum(
            len(step.passes)
            for optimizer in self.optimizers
            for step in optimizer.on_rank[0].watched
        )
        if not first.wrapped and first.sends.get("forward", 0) > MAJORITY * max(1, passes):
            return "the ranks talk while they compute forward, as if each had a part of the model"
        if len({len(report.optimizers) for report in self.reports}) > 1 or (
            len(self.optimizers) < len(first.optimizers)
        ):
            return "the ranks have different models or optimizers"
        return ""

    @cached_property
    def is_sharded(self) -> bool:
        """Whether each rank keeps a shard of the weights (`fully_shard`)."""
        return any(optimizer.on_rank[0].sharded for optimizer in self.optimizers)

    @cached_property
    def combines_gradients(self) -> bool:
        """Whether the ranks were seen to combine their gradients."""
        return any(
            optimizer.mostly(MEAN) or optimizer.mostly(OTHER) for optimizer in self.optimizers
        )

    @cached_property
    def averages_weights(self) -> bool:
        """Whether the ranks average their weights between steps, as in local SGD."""
        return any(optimizer.sync_steps for optimizer in self.optimizers)

    @cached_property
    def is_tied(self) -> bool:
        """Whether something ties the ranks together, so that they should train the same model."""
        if self.why_split:
            return False
        return bool(self.reports[0].wrapped) or self.is_sharded or self.combines_gradients

    @property
    def why_untied(self) -> str:
        """Why the ranks may differ, if nothing ties them together."""
        return self.why_split or "nothing was seen that ties the ranks"

    @property
    def why_no_steps(self) -> str:
        """Why no steps are compared: none was seen, or nothing ties the ranks together."""
        return self.why_untied if self.step_count else NO_STEP

    @property
    def pairs(self) -> Iterator[tuple[int, int]]:
        """All pairs of ranks, as their indices in `reports`."""
        return combinations(range(self.world_size), 2)

    def training_passes(self, rank_index: int) -> list[LoaderPass]:
        """The passes over loaders that fed the training on the rank at this index of `reports`."""
        loader_passes = self.reports[rank_index].loader_passes
        return [loader_pass for loader_pass in loader_passes if loader_pass.batches]

    @property
    def all_training_passes(self) -> list[LoaderPass]:
        """The passes over loaders that fed the training, of one rank after the other."""
        return [
            loader_pass
            for rank_index in range(self.world_size)
            for loader_pass in self.training_passes(rank_index)
        ]

    @property
    def training_passes_on_ranks(self) -> list[tuple[LoaderPass, ...]]:
        """The passes over loaders that fed the training, each as every rank made it."""
        return list(zip(*map(self.training_passes, range(self.world_size)), strict=False))

    @property
    def first_training_pass(self) -> LoaderPass | None:
        """The pass over a loader that fed the first steps of the first rank."""
        return next(iter(self.training_passes(0)), None)

    def backward_passes(
        self, step_on_ranks: Sequence[OptimizerStep]
    ) -> list[tuple[BackwardPass, ...]]:
        """The backward passes of a step, each as every rank made it."""
        return list(zip(*[step.passes for step in step_on_ranks], strict=False))

    def partial_change(self, since: Sequence[int], until: Sequence[int]) -> tuple[str, list[int]]:
        """The last line that changed weights on only some ranks, and those ranks; "" if none did.

        `since` and `until` have a number of backward passes for each rank. Only changes between
        the two count.
        """
        spans = list(zip(self.reports, since, until, strict=True))
        by_rank = [
            [c.line for c in report.changes if a <= c.passes_so_far < b] for report, a, b in spans
        ]
        for own_lines in by_rank:
            for line in reversed(own_lines):
                ranks = [
                    rank for rank, lines in zip(self.ranks, by_rank, strict=True) if line in lines
                ]
                if len(ranks) < self.world_size:
                    return line, ranks
        return "", []

    def by_rank(self, values: Sequence[object]) -> str:
        """The values as text, such as "rank 0: 1, rank 1: 2"."""
        pairs = zip(self.ranks, values, strict=True)
        return ", ".join(f"rank {rank}: {value}" for rank, value in pairs)

    def unseen(self, probe: str) -> str:
        """The error of the probe with this name on the first rank where it failed, or ""."""
        return next((report.unseen[probe] for report in self.reports if probe in report.unseen), "")


def _shapes(optimizer: OptimizerReport) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The shapes of its parameters and the sizes of their samples, which may differ for shards."""
    return tuple(optimizer.shapes), () if optimizer.sharded else tuple(optimizer.counts)


def odd_rank(values: Sequence[object], ranks: Sequence[int]) -> int | None:
    """The one rank whose value differs while all others agree; None with two ranks."""
    for rank_index, value in enumerate(values):
        others = [other for at, other in enumerate(values) if at != rank_index]
        if len(others) > 1 and len(set(others)) == 1 and value != others[0]:
            return ranks[rank_index]
    return None
