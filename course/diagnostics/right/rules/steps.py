"""Rules on each step: do all ranks take it, is it finite, and do weights and buffers stay equal?"""

import math
from collections.abc import Sequence

import numpy as np

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import BufferUse, OptimizerStep, TrainingReport
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import NO_STEP, Evidence, odd_rank
from course.diagnostics.right.optimizer_on_ranks import OptimizerOnRanks, unequal_places
from course.diagnostics.right.rules.gradients import why_no_gradients
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule, shorten
from course.diagnostics.right.thresholds import EXACT, MAJORITY


def taken(evidence: Evidence) -> Result:
    """Does each rank take a step when the others do?"""
    if not evidence.is_tied or not evidence.step_count:
        return [Row(table.STEPS, NOT_SEEN, evidence.why_no_steps)]
    for optimizer in evidence.optimizers:
        if optimizer.skip:
            number, rank_index = optimizer.skip
            rank = evidence.ranks[rank_index]
            other = optimizer.on_rank[0 if rank_index else 1].watched
            line = other[min(number, len(other)) - 1].line
            finding = causes.SKIPPED_STEP.finding(
                f"Rank {rank} does not take step {number} (at {line}), which the others take: from "
                "there on its weights are one step behind.",
                rank=rank,
                step=number,
                where=line,
            )
            return [Row(table.STEPS, DIFFERS, f"rank {rank} leaves out step {number}"), finding]
    says = f"all ranks take the same {words.plural(evidence.step_count, 'step')}"
    if any(optimizer.joined_at is not None for optimizer in evidence.optimizers):
        says += "; those after the end of a `join` are not compared"
    return [Row(table.STEPS, EQUAL, says)]


def finite(evidence: Evidence) -> Result:
    """Are all losses, gradients and weights finite?"""
    compared = False
    for optimizer in evidence.optimizers:
        for number, step_on_ranks in enumerate(optimizer.steps, 1):
            compared = True
            bad = [
                any(p.loss is not None and not math.isfinite(p.loss) for p in step.passes)
                or not _is_finite(step)
                for step in step_on_ranks
            ]
            broken = any(not step.finite for step in step_on_ranks)
            if not any(bad) and not broken:
                continue
            ranks = [rank for rank, is_bad in zip(evidence.ranks, bad, strict=True) if is_bad]
            rank = ranks[0] if len(ranks) == 1 else None
            line = next((p.line for step in step_on_ranks for p in step.passes), "")
            on = f"of rank {rank}" if rank is not None else "of the ranks"
            finding = causes.NON_FINITE.finding(
                f"The loss or the gradient {on} is not finite in step {number}, and the step is "
                "taken all the same. An average with it is not finite on any rank.",
                rank=rank,
                step=number,
                where=line,
            )
            return [Row(table.FINITE, DIFFERS, f"since step {number}"), finding]
    if compared:
        return [Row(table.FINITE, EQUAL, "all losses and weights are finite")]
    return [Row(table.FINITE, NOT_SEEN, NO_STEP)]


def _is_finite(step: OptimizerStep) -> bool:
    gradients = step.gradients
    return "own" not in gradients.encoded or bool(np.isfinite(gradients.samples("own")).all())


def weights(evidence: Evidence) -> Result:
    """Are the weights equal after each step?"""
    if evidence.why_split or evidence.is_sharded or not evidence.step_count:
        return [Row(table.AFTER, NOT_SEEN, why_no_gradients(evidence))]
    if evidence.averages_weights:
        first = next(o.sync_steps[0] for o in evidence.optimizers if o.sync_steps)
        return [Row(table.AFTER, EQUAL, f"the ranks average them, first before step {first}")]
    if not evidence.is_tied:
        return [Row(table.AFTER, NOT_SEEN, evidence.why_untied)]
    for optimizer in evidence.optimizers:
        for number, step_on_ranks in enumerate(optimizer.steps, 1):
            if names := _unequal_names(optimizer, step_on_ranks):
                return [
                    Row(table.AFTER, DIFFERS, f"since step {number}: {names}"),
                    _drift(evidence, optimizer, number, names),
                ]
    return [Row(table.AFTER, EQUAL, f"in all {words.plural(evidence.step_count, 'step')}")]


def _unequal_names(optimizer: OptimizerOnRanks, step_on_ranks: Sequence[OptimizerStep]) -> str:
    unequal = unequal_places([step.after for step in step_on_ranks])
    norms = list(zip(*[step.norms for step in step_on_ranks], strict=False))
    unequal += [
        param_index for param_index, column in enumerate(norms)
        if param_index not in unequal and max(column) - min(column) > EXACT * max(map(abs, column))
    ]  # fmt: skip
    tied = [param_index for param_index in unequal if param_index not in optimizer.own_parts]
    return shorten(optimizer.names_of(tied))


def _drift(evidence: Evidence, optimizer: OptimizerOnRanks, number: int, names: str) -> Finding:
    step_on_ranks = optimizer.steps[number - 1]
    before = optimizer.steps[number - 2] if number > 1 else None
    equal_before = len({tuple(step.before) for step in step_on_ranks}) == 1
    line = ""
    ranks: list[int] = []
    if before and not equal_before:
        line, ranks = evidence.partial_change(
            [s.passes_so_far for s in before], [s.passes_so_far for s in step_on_ranks]
        )
    if line:
        return causes.DRIFT.finding(
            f"The weights are no longer equal in step {number} ({names}), since only "
            f"{words.ranks(ranks)} changed them before it, at {line}.",
            "Change weights on all ranks alike, or send them from one rank to all with "
            "dist.broadcast.",
            rank=ranks[0] if len(ranks) == 1 else None,
            step=number,
            where=line,
        )
    moment = "in the step itself" if equal_before else "between two steps"
    if not before and not equal_before:
        moment = "before the first step"
    rank = odd_rank([tuple(step.after) for step in step_on_ranks], evidence.ranks)
    return causes.DRIFT.finding(
        f"The weights are no longer equal after step {number} ({names}), and nothing else that was "
        f"looked at explains it: they diverge {moment}.",
        "Look for what changes weights on one rank alone; lab 04c has an instrument that finds "
        "the moment.",
        rank=rank,
        step=number,
        where=step_on_ranks[0].line,
    )


def buffers(evidence: Evidence) -> Result:
    """Are the buffers equal whenever the model is evaluated or saved?"""
    steps = evidence.steps_on_ranks
    marks = [[p.buffers for step in on_ranks for p in step.passes[:1]] for on_ranks in steps]
    marks = [by_rank for by_rank in marks if len(by_rank) == evidence.world_size and any(by_rank)]
    if any(wrap.buffers for report in evidence.reports for wrap in report.wrapped) and not marks:
        return [Row(table.BUFFERS, EQUAL, "DDP sends rank 0's before each pass")]
    if not marks or not evidence.is_tied:
        says = evidence.why_untied if marks else "the model has none"
        return [Row(table.BUFFERS, NOT_SEEN, says)]
    uses = _compared_uses(evidence)
    unequal = [use for use, is_equal in uses if not is_equal]
    if unequal and len(unequal) > MAJORITY * len(uses):
        return _unequal_buffers(unequal[0])
    if uses:
        return [Row(table.BUFFERS, EQUAL, "when the model is evaluated or saved")]
    if all(len(set(by_rank)) == 1 for by_rank in marks):
        return [Row(table.BUFFERS, EQUAL, "when a step begins")]
    says = "they differ when a step begins, and no use of them was compared"
    return [Row(table.BUFFERS, NOT_SEEN, says)]


def _compared_uses(evidence: Evidence) -> list[tuple[BufferUse, bool]]:
    """The evaluations and saves for which all ranks' buffers are known, and whether they agree.

    If a rank evaluates or saves alone, the others' buffers are those with which they begin the next
    step, provided that the rank's own are still the same then.
    """
    uses = []
    for rank_index, report in enumerate(evidence.reports):
        for use in report.buffer_uses:
            by_rank = [_checksum_at(other, use) for other in evidence.reports]
            if None in by_rank:
                by_rank = [_checksum_after(other, use.steps) for other in evidence.reports]
                if None in by_rank or by_rank[rank_index] != use.checksum:
                    continue
            uses.append((use, len(set(by_rank)) == 1))
    return uses


def _checksum_at(report: TrainingReport, use: BufferUse) -> int | None:
    """The checksum of a rank's buffers at the same line after the same step; None if not seen."""
    same = (o.checksum for o in report.buffer_uses if (o.line, o.steps) == (use.line, use.steps))
    return next(same, None)


def _checksum_after(report: TrainingReport, steps: int) -> int | None:
    """The checksum of a rank's buffers when its next step after this many begins."""
    if len(report.optimizers) != 1:  # `steps` counts those of all optimizers
        return None
    watched = report.optimizers[0].watched[steps : steps + 1]
    passes = [backward_pass for step in watched for backward_pass in step.passes]
    return passes[0].buffers or None if passes else None


def _unequal_buffers(use: BufferUse) -> Result:
    when = f"when the model is {'saved' if use.is_saved else 'evaluated'} at {use.line}"
    which = (
        "those of the rank that saves are kept"
        if use.is_saved
        else "each rank computes with its own"
    )
    finding = causes.BUFFERS.finding(
        f"The ranks' buffers (such as the statistics of batch norm) differ {when}: {which}.",
        step=max(1, use.steps),
        where=use.line,
    )
    return [Row(table.BUFFERS, DIFFERS, when), finding]


RULES: tuple[Rule, ...] = (taken, finite, weights, buffers)
