"""Rules on changes of gradients before the step: clipping too early, or changes on one rank."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from course.diagnostics.finding import Finding
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence
from course.diagnostics.right.gradient_kinds import (
    BROKEN,
    MEAN,
    NONE,
    OTHER,
    OWN,
    UNEQUAL,
    GradientKind,
)
from course.diagnostics.right.optimizer_on_ranks import HookEffect, OptimizerOnRanks
from course.diagnostics.right.rules.gradients import why_no_gradients
from course.diagnostics.right.table import EQUAL, NOT_SEEN, Result, Row, Rule, first_of
from course.diagnostics.right.thresholds import (
    EXACT,
    FACTOR,
    MAJORITY,
    ROUNDING_16_BIT,
    ROUNDING_OF_ZERO,
)


def between(evidence: Evidence) -> Result:
    """Does anything change gradients on one rank only, or clip them too early?"""
    judges = (_early_clip, _clips_before, _hooks_clip, partial(_changed, evidence))
    for optimizer in evidence.optimizers:
        if found := first_of(table.BETWEEN, judges, optimizer):
            return found
    if evidence.is_sharded and (found := first_of(table.BETWEEN, [_shards_scaled], evidence)):
        return found
    if not any(optimizer.kinds for optimizer in evidence.optimizers):
        return [Row(table.BETWEEN, NOT_SEEN, why_no_gradients(evidence))]
    if evidence.combines_gradients:
        return [Row(table.BETWEEN, EQUAL, "gradients change alike on all ranks, if at all")]
    return [Row(table.BETWEEN, NOT_SEEN, "no gradient was seen to be averaged")]


def _early_clip(optimizer: OptimizerOnRanks) -> Finding | None:
    lines = [step.early_clip for step_on_ranks in optimizer.steps for step in step_on_ranks]
    if sum(map(bool, lines)) <= MAJORITY * max(1, len(lines)):
        return None
    where = next(filter(None, lines))
    return causes.CLIP.finding(
        f"The gradients are clipped at {where} while the scaler's factor is still in them, so "
        "their norm is far above the limit in every step.",
        "Call scaler.unscale_(optimizer) before you clip.",
        lab="05b",
        step=1,
        where=where,
    )


def _clips_before(optimizer: OptimizerOnRanks) -> Finding | None:
    """Find that each rank clips its own gradient, and that the ranks then combine these."""
    clipped = changed = 0
    where = ""
    for (_, first, used), (_, step_on_ranks) in zip(
        optimizer.kinds, optimizer.sampled_steps, strict=True
    ):
        params = [p for p in optimizer.trained if first[p].name != NONE]
        if not step_on_ranks[0].clips or not params:
            continue
        clipped += 1
        if all(first[p].name == OWN and used[p].name in (MEAN, OTHER) for p in params):
            where = step_on_ranks[0].clips[0]
            changed += any(
                used[p].name == OTHER or abs(used[p].factor - 1) > FACTOR for p in params
            )
    if not changed or changed <= MAJORITY * clipped:
        return None
    return causes.CLIP.finding(
        f"Each rank clips its own gradient at {where}, and the average comes after that: the ranks"
        " are weighted by their norms, and the average is shorter than the limit.",
        "Average the gradients first, then clip.",
        lab="06",
        step=1,
        where=where,
    )


def _hooks_clip(optimizer: OptimizerOnRanks) -> Finding | None:
    """Find hooks of the script that clip each rank's own gradient before DDP sends it."""
    averaged = set(optimizer.mostly(MEAN) + optimizer.mostly(OTHER))
    effects_by_step = [
        (
            number,
            {
                p: effect
                for p, effect in optimizer.hook_effects(step_on_ranks).items()
                if p in averaged
            },
        )
        for number, step_on_ranks in optimizer.sampled_steps
    ]
    clipped = [entry for entry in effects_by_step if _clips(list(entry[1].values()))]
    if not clipped or len(clipped) <= MAJORITY * sum(bool(e) for _, e in effects_by_step):
        return None
    number, effects = clipped[0]
    changed = [
        p for p, effect in effects.items() if not np.array_equal(effect.before, effect.after)
    ]
    where = effects[changed[0]].line
    names = table.shorten(optimizer.names_of(changed))
    return causes.CLIP.finding(
        f"A hook that is registered at {where} clips each rank's own gradient of {names}: autograd "
        "calls it before the gradients are averaged, so a sample counts less on a rank with large "
        "gradients.",
        "Clip the average: call torch.nn.utils.clip_grad_value_ or clip_grad_norm_ between "
        "backward and step.",
        lab="05b",
        step=number,
        where=where,
    )


def _clips(effects: Sequence[HookEffect]) -> bool:
    """Whether a hook makes gradients smaller, by factors that differ between ranks and values.

    A hook does not clip if it makes gradients equal on all ranks (then it averages them), sets
    values to zero, makes one larger, or scales all gradients of a rank by one factor, which may be
    the rank's share of the samples.
    """
    factors = []
    for _, before, after in effects:
        sizes = np.abs(before)
        large = (sizes > ROUNDING_OF_ZERO * sizes.max(1, keepdims=True)).all(0)
        if not (np.isfinite(before).all() and np.isfinite(after).all()):
            return False
        if np.ptp(after, 0).max() <= EXACT * np.abs(after).max():
            return False
        factors.append(after[:, large] / before[:, large])
    ratios = np.concatenate(factors, 1) if factors else np.zeros((1, 0))
    if not ratios.size or ratios.min() <= 0 or ratios.max() > 1 + EXACT:
        return False
    same_on_ranks = np.ptp(ratios, 0).max() <= FACTOR
    same_on_values = np.ptp(ratios, 1).max() <= FACTOR
    return not same_on_ranks and not same_on_values


def _changed(evidence: Evidence, optimizer: OptimizerOnRanks) -> Finding | None:
    """Find that some ranks change gradients that were averaged, or should be."""
    changes: list[tuple[int, list[int]]] = []
    compared = 0
    for number, first, used in optimizer.kinds:
        params = [p for p in optimizer.trained if used[p].name not in (NONE, BROKEN)]
        unequal = [p for p in params if used[p].name == UNEQUAL and used[p].distinct]
        averaged = [p for p in params if first[p].name in (MEAN, OTHER)]
        compared += bool(params)
        if not unequal:
            continue
        ranks = _changed_ranks(unequal, first, used, evidence.world_size)
        if ranks and (averaged or _others_use_the_mean(unequal, used)):
            changes.append((number, ranks))
    if len(changes) < 2 or len(changes) <= MAJORITY * compared:
        return None
    number, ranks = changes[0]
    rank = evidence.ranks[ranks[0]] if len(ranks) == 1 else None
    step_on_ranks = dict(optimizer.sampled_steps)[number]
    clips = [step.clips for step in step_on_ranks]
    on = f"on rank {rank}" if rank is not None else "on each rank in another way"
    if any(clips):
        where = next(lines[0] for lines in clips if lines)
        return causes.CLIP.finding(
            f"The gradients are clipped {on} (at {where}) after they were averaged, so the ranks "
            "use different ones.",
            "Clip on all ranks, by the same limit.",
            lab="04c",
            rank=rank,
            step=number,
            where=where,
        )
    line = step_on_ranks[0].line
    return causes.CHANGED_GRADIENT.finding(
        f"The gradients are changed {on} after they were averaged, before {line}: the ranks use "
        "different ones, so their weights diverge.",
        rank=rank,
        step=number,
        where=line,
    )


def _changed_ranks(
    params: list[int], first: list[GradientKind], used: list[GradientKind], count: int
) -> list[int]:
    """The indices of the ranks whose gradients changed, or differ from the mean."""
    changed: set[int] = set()
    for param_index in params:
        now, then = used[param_index], first[param_index]
        for rank_index in range(count):
            factor = then.factors[rank_index] if then.name == MEAN else 1.0
            is_far = abs(now.factors[rank_index] - factor) > FACTOR
            if now.residuals[rank_index] > ROUNDING_16_BIT or is_far:
                changed.add(rank_index)
    return sorted(changed)


def _others_use_the_mean(params: list[int], used: list[GradientKind]) -> bool:
    """Whether at least one rank uses the mean of each parameter, so that the ranks do average."""
    return all(
        any(r <= ROUNDING_16_BIT and abs(f - 1) <= FACTOR
            for r, f in zip(used[p].residuals, used[p].factors, strict=True))
        for p in params
    )  # fmt: skip


def _shards_scaled(evidence: Evidence) -> Finding | None:
    """Find that each rank scales its shard by its own factor: it used the norm of its shard."""
    for optimizer in evidence.optimizers:
        factors = optimizer.shard_factors
        unequal = [
            number for number, by_rank in factors if max(by_rank) > (1 + FACTOR) * min(by_rank)
        ]
        if len(unequal) > 1 and len(unequal) > MAJORITY * len(factors):
            steps = [step for number in unequal for step in optimizer.steps[number - 1]]
            where = next((line for step in steps for line in step.clips), steps[0].line)
            return causes.CLIP.finding(
                "Each rank scales its shard of the gradients by a factor of its own: the norm was "
                "that of the shard, not that of the whole gradient.",
                "Use torch.nn.utils.clip_grad_norm_ on the sharded parameters themselves, which "
                "takes the norm over all ranks.",
                lab="10b",
                step=unequal[0],
                where=where,
            )
    return None


RULES: tuple[Rule, ...] = (between,)
