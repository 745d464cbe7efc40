"""Rules on how ranks train: the mode, the precision, the optimizer's settings, learning rates."""

import math
from itertools import zip_longest

from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence, odd_rank
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule
from course.diagnostics.right.thresholds import SINCE


def modes(evidence: Evidence) -> Result:
    """Do the ranks train in the same mode, and do they return to it after an evaluation?"""
    row, difference = _compare(evidence, "modes", table.MODE)
    if difference:
        step, values, line = difference
        rank = odd_rank(values, evidence.ranks)
        if rank is None and values.count("evaluation") == 1:
            rank = evidence.ranks[values.index("evaluation")]
        finding = causes.MODE.finding(
            f"The ranks call the model in different modes since step {step} "
            f"({evidence.by_rank(values)}): dropout and batch norm do something else on each.",
            "Call model.train() on all ranks before the training goes on.",
            lab="04c",
            rank=rank,
            step=step,
            where=line,
        )
        return [row, finding]
    if evidence.step_count and (step := _stays_in_evaluation(evidence)):
        line = evidence.optimizers[0].steps[step - 1][0].passes[0].called
        finding = causes.MODE.finding(
            f"All ranks train in evaluation mode since step {step}; before, they trained in "
            "training mode. Dropout is off, and batch norm no longer learns its statistics.",
            "Call model.train() after each evaluation.",
            step=step,
            where=line,
        )
        return [row, finding]
    return [row]


def _stays_in_evaluation(evidence: Evidence) -> int:
    """The step from which all passes run in evaluation mode, after training mode; else 0."""
    modes = [
        step_on_ranks[0].passes[0].modes if step_on_ranks[0].passes else ""
        for step_on_ranks in evidence.optimizers[0].steps
    ]
    last = len(modes)
    while last and modes[last - 1] == "evaluation":
        last -= 1
    enough = len(modes) - last > SINCE and "training" in modes[:last]
    return last + 1 if enough and evidence.reports[0].evaluated else 0


def precision(evidence: Evidence) -> Result:
    """Do the ranks compute in the same precision?"""
    row, difference = _compare(evidence, "precision", table.PRECISION)
    if difference is None:
        return [row]
    step, values, line = difference
    finding = causes.PRECISION.finding(
        f"The ranks compute in different precision since step {step} ({evidence.by_rank(values)}).",
        rank=odd_rank(values, evidence.ranks),
        step=step,
        where=line,
    )
    return [row, finding]


def _compare(
    evidence: Evidence, field: str, name: str
) -> tuple[Row, tuple[int, list[str], str] | None]:
    """Compare a field of the backward passes: the row with this name, and the first difference.

    The difference is the step, the value of each rank, and the line; None if there is none.
    """
    if not evidence.is_tied:
        return Row(name, NOT_SEEN, evidence.why_untied), None
    differing: list[tuple[int, list[str], str]] = []
    compared = 0
    for optimizer in evidence.optimizers:
        for number, steps in enumerate(optimizer.steps, 1):
            for passes in evidence.backward_passes(steps):
                values = [getattr(backward_pass, field) for backward_pass in passes]
                compared += all(values)
                if all(values) and len(set(values)) > 1:
                    differing.append((number, values, passes[-1].called))
    if len({number for number, _, _ in differing}) >= SINCE:
        return Row(name, DIFFERS, f"since step {differing[0][0]}"), differing[0]
    if compared:
        return Row(name, EQUAL, "at each call of the model"), None
    return Row(name, NOT_SEEN, "no call of a model with gradients was seen"), None


def settings(evidence: Evidence) -> Result:
    """Do the optimizers have the same settings, other than learning rates, on all ranks?"""
    if not evidence.is_tied or not evidence.step_count:
        return [Row(table.SETTINGS, NOT_SEEN, evidence.why_no_steps)]
    for optimizer in evidence.optimizers:
        for number, step_on_ranks in enumerate(optimizer.steps, 1):
            values = [
                f"{o.name}: {step.settings}"
                for o, step in zip(optimizer.on_rank, step_on_ranks, strict=True)
            ]
            if len(set(values)) > 1:
                where = optimizer.on_rank[-1].made_at
                finding = causes.SETTINGS.finding(
                    f"The optimizers have different settings since step {number}: "
                    f"{_difference(values, evidence.ranks)}. The ranks turn equal gradients "
                    "into different weights.",
                    rank=odd_rank(values, evidence.ranks),
                    step=number,
                    where=where,
                )
                return [Row(table.SETTINGS, DIFFERS, f"since step {number}"), finding]
    return [Row(table.SETTINGS, EQUAL, "in each step")]


def _difference(values: list[str], ranks: list[int]) -> str:
    parts = [set(value.replace(";", ",").split(", ")) for value in values]
    common = set.intersection(*parts)
    return ", ".join(
        f"rank {rank} has {' '.join(sorted(part - common)) or 'less'}"
        for rank, part in zip(ranks, parts, strict=True)
    )


def rates(evidence: Evidence) -> Result:
    """Do the optimizers have the same learning rates on all ranks?"""
    if not evidence.is_tied or not evidence.step_count:
        return [Row(table.RATE, NOT_SEEN, evidence.why_no_steps)]
    for optimizer in evidence.optimizers:
        for number, step_on_ranks in enumerate(optimizer.steps, 1):
            values = [tuple(step.rates) for step in step_on_ranks]
            if len(set(values)) > 1:
                scheduled = next((s.schedule_line for s in step_on_ranks if s.schedule_line), "")
                where = optimizer.on_rank[-1].made_at if number == 1 or not scheduled else scheduled
                # Name the rates of the first group that differs; a rank may have fewer groups.
                groups = zip_longest(*values, fillvalue=math.nan)
                differing = next(group for group in groups if len(set(group)) > 1)
                by_rank = evidence.by_rank([f"{rate:g}" for rate in differing])
                finding = causes.LEARNING_RATE.finding(
                    f"The ranks have different learning rates since step {number} ({by_rank}), so "
                    "equal gradients make different weights.",
                    rank=odd_rank(values, evidence.ranks),
                    step=number,
                    where=where,
                )
                return [Row(table.RATE, DIFFERS, f"since step {number}: {by_rank}"), finding]
    return [Row(table.RATE, EQUAL, "in each step")]


RULES: tuple[Rule, ...] = (modes, precision, settings, rates)
