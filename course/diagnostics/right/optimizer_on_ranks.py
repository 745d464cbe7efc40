"""One optimizer on all ranks: line up its steps, and classify each gradient."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from course.diagnostics.numerics.training import OptimizerReport, OptimizerStep, StepGradients
from course.diagnostics.right.gradient_kinds import NONE, OWN, GradientKind, gradient_kind
from course.diagnostics.right.thresholds import MAJORITY


class StepKinds(NamedTuple):
    """The kinds of all gradients in a step: `first` after the last pass, then when `used`."""

    number: int
    first: list[GradientKind]
    used: list[GradientKind]


class HookEffect(NamedTuple):
    """How the script's hooks change a gradient: its values `before` and `after` all hooks.

    `line` registered the hook; if there are several, the last one that changed the gradient.
    """

    line: str
    before: np.ndarray
    after: np.ndarray


def _hook_effects(gradients: StepGradients) -> dict[int, HookEffect]:
    """The effect of all hooks on each parameter that has one, in the last backward pass."""
    by_param: dict[int, HookEffect] = {}
    flat = gradients.samples("hooked") if gradients.hooked else np.zeros(0)
    at = 0
    for param_index, size, line in gradients.hooked:
        before, after = flat[at : at + size], flat[at + size : at + 2 * size]
        at += 2 * size
        previous = by_param.get(param_index)
        if previous is not None and np.array_equal(previous.after, before):  # it ran just before
            line = previous.line if np.array_equal(before, after) else line
            before = previous.before
        by_param[param_index] = HookEffect(line, before, after)
    return by_param


def unequal_places(by_rank: Sequence[Sequence[object]]) -> list[int]:
    """The places at which the lists of the ranks, which have the same length, differ."""
    columns = zip(*by_rank, strict=True)
    return [place for place, column in enumerate(columns) if len(set(column)) > 1]


class OptimizerOnRanks:
    """One optimizer of the script, with the report of each rank, in the order of the ranks."""

    def __init__(self, on_rank: Sequence[OptimizerReport]) -> None:
        self.on_rank = on_rank

    @property
    def names(self) -> list[str]:
        """The names of its parameters, or their numbers if the names are unknown."""
        plain = self.on_rank[0].names
        return [name or f"parameter {param_index}" for param_index, name in enumerate(plain)]

    def names_of(self, param_indices: Iterable[int]) -> list[str]:
        """The names of the parameters with these indices."""
        names = self.names
        return [names[param_index] for param_index in param_indices]

    @cached_property
    def joined_at(self) -> int | None:
        """The steps before DDP's `join` ended on the first rank; None if no rank used it.

        From there on, ranks have unequal numbers of batches on purpose, and are not compared.
        """
        ends = [report.joined_at for report in self.on_rank if report.joined_at is not None]
        return min(ends, default=None)

    @cached_property
    def _watched(self) -> list[list[OptimizerStep]]:
        """The watched steps of each rank that can be compared."""
        return [report.watched[: self.joined_at] for report in self.on_rank]

    @cached_property
    def skip(self) -> tuple[int, int] | None:
        """The first step that a rank skipped, from 1, and that rank's index; None if none did.

        DDP's averages and collectives are the same on all ranks, so counting them tells which steps
        belong together. A rank that only ends earlier has skipped nothing.
        """
        steps = self._watched
        key = (
            "collectives_so_far"
            if steps[0] and any(step.collectives_so_far for step in steps[0])
            else "passes_so_far"
        )
        for number, step_on_ranks in enumerate(zip(*steps, strict=False)):
            orders = [getattr(step, key) for step in step_on_ranks]
            if len(set(orders)) > 1:
                return number + 1, int(np.argmax(orders))
        return None

    @cached_property
    def steps(self) -> list[tuple[OptimizerStep, ...]]:
        """The steps that all ranks took together, up to the first skipped one."""
        steps = list(zip(*self._watched, strict=False))
        return steps[: self.skip[0] - 1] if self.skip else steps

    @cached_property
    def sampled_steps(self) -> list[tuple[int, tuple[OptimizerStep, ...]]]:
        """The steps whose gradients were sampled, with their numbers, from 1."""
        return [
            (number, step_on_ranks)
            for number, step_on_ranks in enumerate(self.steps, 1)
            if all(step.gradients.encoded for step in step_on_ranks)
            and not any(step.closure for step in step_on_ranks)
        ]

    def parts(self, flat: np.ndarray) -> Iterator[np.ndarray]:
        """Split the samples of all parameters, in the last dimension, into those of each."""
        counts = self.on_rank[0].counts
        for start, end in pairwise(np.cumsum([0, *counts])):
            yield flat[..., start:end]

    def samples(self, step_on_ranks: Sequence[OptimizerStep], name: str) -> np.ndarray:
        """The samples of a step's gradients of this name, with shape (ranks, values).

        Gradients that were left over from before the step are subtracted from `first` and `used`.
        """
        values = np.stack([step.gradients.samples(name) for step in step_on_ranks])
        if name in ("first", "used"):
            values = values - np.stack([step.gradients.samples("base") for step in step_on_ranks])
        return values

    @cached_property
    def kinds(self) -> list[StepKinds]:
        """The kinds of all gradients, in each step whose gradients were sampled."""
        kinds = []
        for number, step_on_ranks in self.sampled_steps:
            own = list(self.parts(self.samples(step_on_ranks, "own")))
            moments = [
                list(self.parts(self.samples(step_on_ranks, moment)))
                for moment in ("first", "used")
            ]
            first, used = (
                [gradient_kind(o, n) for o, n in zip(own, moment, strict=True)]
                for moment in moments
            )
            kinds.append(StepKinds(number, first, used))
        return kinds

    def mostly(self, name: str) -> list[int]:
        """The parameters whose used gradient is of this kind in most steps that have a gradient."""
        param_indices = []
        for param_index in range(len(self.names)):
            kinds = [
                step.used[param_index] for step in self.kinds if step.used[param_index].name != NONE
            ]
            fitting = [
                candidate for candidate in kinds if candidate.name == name and candidate.distinct
            ]
            if len(fitting) > MAJORITY * len(kinds):
                param_indices.append(param_index)
        return param_indices

    @cached_property
    def trained(self) -> list[int]:
        """The parameters that had a gradient in at least one step."""
        return [
            param_index
            for param_index in range(len(self.names))
            if any(step.used[param_index].name != NONE for step in self.kinds)
        ]

    @cached_property
    def unequal_at_start(self) -> list[int]:
        """The parameters that differ between the ranks before the first step."""
        return unequal_places([step.before for step in self.steps[0]]) if self.steps else []

    @cached_property
    def own_parts(self) -> set[int]:
        """The parameters of which each rank seems to hold a different part.

        They differ from the start, and each rank uses its own gradient of them. A classifier with
        very many classes may be split like that, and so may experts.
        """
        return set(self.unequal_at_start) & set(self.mostly(OWN))

    @cached_property
    def starts_equal(self) -> bool:
        """Whether the weights are equal on all ranks before the first step."""
        return bool(self.steps) and not self.unequal_at_start

    @cached_property
    def sync_steps(self) -> list[int]:
        """The steps just before which unequal weights became equal, as the ranks averaged them."""
        numbers = []
        for number, (last, now) in enumerate(zip(self.steps, self.steps[1:], strict=False), 2):
            differed = len({tuple(step.after) for step in last}) > 1
            if differed and len({tuple(step.before) for step in now}) == 1:
                numbers.append(number)
        return numbers

    def hook_effects(self, step_on_ranks: Sequence[OptimizerStep]) -> dict[int, HookEffect]:
        """The effect of all hooks on each parameter that has one; arrays are (ranks, values).

        On a rank without a hook on the parameter, the gradients before and after are all ones.
        """
        by_rank = [_hook_effects(step.gradients) for step in step_on_ranks]
        by_param = {}
        for param_index in sorted(set().union(*by_rank)):
            first = next(effects[param_index] for effects in by_rank if param_index in effects)
            unhooked = HookEffect("", np.ones(first.after.size), np.ones(first.after.size))
            on_ranks = [effects.get(param_index, unhooked) for effects in by_rank]
            if len({effect.before.size for effect in on_ranks}) == 1:
                _, before, after = zip(*on_ranks, strict=True)
                by_param[param_index] = HookEffect(first.line, np.stack(before), np.stack(after))
        return by_param

    @cached_property
    def shard_factors(self) -> list[tuple[int, list[float]]]:
        """The number of each step, and the factor by which each rank scaled its gradient shard."""
        return [
            (number, [step.scale for step in step_on_ranks])
            for number, step_on_ranks in enumerate(self.steps, 1)
            if all(step.scale for step in step_on_ranks)
        ]
