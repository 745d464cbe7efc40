"""Rules on the weights that ranks begin with: those of the trained model and of other models."""

from collections import Counter
from collections.abc import Sequence

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import DdpModel, InferenceModel
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import NO_STEP, Evidence, odd_rank
from course.diagnostics.right.optimizer_on_ranks import OptimizerOnRanks, unequal_places
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule, shorten


def weights(evidence: Evidence) -> Result:
    """Are the weights equal at the start, if something ties the ranks together?"""
    if evidence.why_split:
        return [Row(table.START, NOT_SEEN, evidence.why_split)]
    if evidence.is_sharded:
        return [Row(table.START, NOT_SEEN, "each rank keeps a shard of its own")]
    for wraps in zip(*[report.wrapped for report in evidence.reports], strict=False):
        if len({tuple(wrap.at_first_call) for wrap in wraps if wrap.at_first_call}) > 1:
            return _changed_in_ddp(evidence, wraps)
    for optimizer in evidence.optimizers:
        tied = set(optimizer.unequal_at_start) - optimizer.own_parts
        if tied and (evidence.combines_gradients or evidence.reports[0].wrapped):
            return _unequal_start(evidence, optimizer)
    return [_start_row(evidence)]


def _start_row(evidence: Evidence) -> Row:
    """The row for a start without a finding."""
    optimizers = evidence.optimizers
    if not evidence.step_count:
        return Row(table.START, NOT_SEEN, NO_STEP)
    if all(optimizer.starts_equal for optimizer in optimizers):
        return Row(table.START, EQUAL, "on all ranks before the first step")
    if evidence.is_tied and all(
        set(optimizer.unequal_at_start) <= optimizer.own_parts for optimizer in optimizers
    ):
        says = "but for a part of the model that each rank has of its own"
        return Row(table.START, EQUAL, says)
    return Row(table.START, NOT_SEEN, f"they differ, and {evidence.why_untied}")


def _changed_in_ddp(evidence: Evidence, wraps: Sequence[DdpModel]) -> Result:
    """Find that the script changed weights after DDP had made them equal."""
    unequal = unequal_places([wrap.at_first_call for wrap in wraps])
    names = [wraps[0].names[param_index] for param_index in unequal]
    ranks = [
        rank
        for rank, wrap in zip(evidence.ranks, wraps, strict=True)
        if wrap.at_first_call != wrap.at_wrapping
    ]
    rank = (
        ranks[0]
        if len(ranks) == 1
        else odd_rank([str(wrap.at_first_call) for wrap in wraps], evidence.ranks)
    )
    where = _changed_at(evidence, ranks or evidence.ranks) or wraps[0].made_at
    on = f"rank {rank}" if rank is not None else "the ranks"
    finding = causes.START.finding(
        f"The weights differ when training starts ({shorten(names)}): {on} changed them at {where} "
        "after DDP had made them equal. DDP averages gradients and never looks at the weights "
        "again, so the ranks train different models.",
        "Change weights before you wrap the model in DDP, or change them on all ranks alike.",
        rank=rank,
        step=1,
        where=where,
    )
    return [_row_of_differing(names), finding]


def _row_of_differing(names: list[str]) -> Row:
    return Row(table.START, DIFFERS, f"{words.plural(len(names), 'weight tensor')} differ")


def _unequal_start(evidence: Evidence, optimizer: OptimizerOnRanks) -> Result:
    """Find that an optimizer begins with different weights on ranks that train together."""
    names = optimizer.names_of(optimizer.unequal_at_start)
    row = _row_of_differing(names)
    line, ranks = evidence.partial_change(
        _equal_until(evidence, optimizer), [step.passes_so_far for step in optimizer.steps[0]]
    )
    if line:
        return [row, _changed_by_some(names, line, ranks)]
    return [row, _never_equal(evidence, optimizer, names)]


def _changed_by_some(names: list[str], line: str, ranks: list[int]) -> Finding:
    """Find that only some ranks executed a line that changes weights."""
    return causes.START.finding(
        f"The weights differ before the first step of an optimizer ({shorten(names)}), since only "
        f"{words.ranks(ranks)} changed them at {line}. Equal gradients then train different "
        "models.",
        "Change weights on all ranks alike, or send them from one rank to all with dist.broadcast.",
        rank=ranks[0] if len(ranks) == 1 else None,
        step=1,
        where=line,
    )


def _never_equal(evidence: Evidence, optimizer: OptimizerOnRanks, names: list[str]) -> Finding:
    """Find that nothing made the weights equal before the first step."""
    first = optimizer.on_rank[0]
    made_at = first.made[optimizer.unequal_at_start[0]] if first.made else ""
    befores = [tuple(step.before) for step in optimizer.steps[0]]
    return causes.START.finding(
        f"The weights differ before the first step ({shorten(names)}), though the ranks combine "
        "their gradients: each rank applies the same updates to another model.",
        "Send rank 0's weights to all ranks before the first step "
        "(dist.broadcast for each parameter), or let DDP do so.",
        rank=odd_rank(befores, evidence.ranks),
        step=1,
        where=made_at or first.made_at,
    )


def _equal_until(evidence: Evidence, optimizer: OptimizerOnRanks) -> list[int]:
    """How many backward passes each rank had made when all weights were last equal, or 0."""
    steps = [
        step_on_ranks
        for other in evidence.optimizers
        for step_on_ranks in other.steps
        if len({tuple(step.after) for step in step_on_ranks}) == 1
        and all(
            step.passes_so_far < first.passes_so_far
            for step, first in zip(step_on_ranks, optimizer.steps[0], strict=True)
        )
    ]
    last = max(steps, key=lambda step_on_ranks: step_on_ranks[0].passes_so_far, default=())
    return [step.passes_so_far for step in last] or [0] * evidence.world_size


def _changed_at(evidence: Evidence, ranks: list[int]) -> str:
    """The last line that changed weights before the first pass, preferably on these ranks alone."""
    ours = [r for r in evidence.reports if r.rank in ranks]
    theirs = {change.line for r in evidence.reports if r.rank not in ranks for change in r.changes}
    lines = [change.line for change in ours[0].changes if change.passes_so_far == 0]
    return next(iter([line for line in lines[::-1] if line not in theirs] or lines[::-1]), "")


def _first_drift(evidence: Evidence) -> int:
    """The first step after which the weights differ between the ranks; 0 if they never do."""
    for optimizer in evidence.optimizers:
        for number, step_on_ranks in enumerate(optimizer.steps, 1):
            if len({tuple(step.after) for step in step_on_ranks}) > 1:
                return number
    return 0


def others(evidence: Evidence) -> Result:
    """Is a model that is only evaluated, such as a teacher, the same on all ranks?"""
    if not evidence.is_tied:
        return [Row(table.OTHERS, NOT_SEEN, evidence.why_untied)]
    alike = _called_alike(evidence)
    for models in alike:
        first = models[0]
        if first.trains or len({model.checksum for model in models}) == 1:
            continue
        if first.steps and (
            _first_drift(evidence) or any(optimizer.own_parts for optimizer in evidence.optimizers)
        ):
            continue
        checksums = [model.checksum for model in models]
        when = f", first after step {first.steps}," if first.steps else ""
        finding = causes.OTHER_MODEL.finding(
            f"The {first.name} that is called without gradients at {first.line}{when} has other "
            "weights on each rank, so its answers differ from rank to rank.",
            rank=odd_rank(checksums, evidence.ranks),
            step=max(1, first.steps),
            where=first.made_at or first.line,
        )
        return [Row(table.OTHERS, DIFFERS, f"{first.name} at {first.line}"), finding]
    calls = Counter(model.name for models in alike for model in models[:1])
    says = f"{', '.join(calls)}, when first called" if calls else "all ranks have called none"
    return [Row(table.OTHERS, EQUAL if calls else NOT_SEEN, says)]


def _called_alike(evidence: Evidence) -> list[list[InferenceModel]]:
    """The models that all ranks first called at the same line after the same step, rank by rank."""
    by_rank = []
    for report in evidence.reports:
        models: dict[tuple[str, str, int, int], InferenceModel] = {}
        for model in report.others:
            key = model.name, model.line, model.steps
            number = sum(other[:3] == key for other in models)
            models[*key, number] = model
        by_rank.append(models)
    return [
        [models[key] for models in by_rank]
        for key in by_rank[0]
        if all(key in models for models in by_rank)
    ]


RULES: tuple[Rule, ...] = (weights, others)
