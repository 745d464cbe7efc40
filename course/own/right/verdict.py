"""The verdict: all findings, causes before consequences, and the table of what was compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from course.core import CourseError
from course.own.finding import Finding
from course.own.numbers.record import Rank
from course.own.right import (
    of_changes,
    of_data,
    of_epochs,
    of_evaluations,
    of_files,
    of_gradients,
    of_losses,
    of_optimizers,
    of_resuming,
    of_settings,
    of_starts,
    of_steps,
    table,
)
from course.own.right.evidence import Evidence
from course.own.right.table import NOT_SEEN, Row

RULES = (
    *of_starts.RULES, *of_settings.RULES, *of_data.RULES, *of_epochs.RULES, *of_gradients.RULES,
    *of_changes.RULES, *of_losses.RULES, *of_steps.RULES, *of_optimizers.RULES, *of_files.RULES,
    *of_evaluations.RULES, *of_resuming.RULES,
)  # fmt: skip
# Every finding, causes before consequences, and what it is.
KNOWN = {
    "start": "the weights differ when training starts",
    "other model": "a model that is only evaluated, such as a teacher, differs",
    "resume": "a training goes on from different states, or from a part of one",
    "mode": "ranks train in different modes, or in evaluation",
    "precision": "ranks compute in different precision",
    "settings": "an optimizer's settings other than the learning rate differ",
    "learning rate": "the learning rates differ",
    "same data": "ranks compute on the same samples",
    "repeated data": "samples come several times in an epoch",
    "part of the data": "an epoch leaves out samples",
    "changed gradient": "a rank changes its gradient after the average",
    "not averaged": "a rank uses its own gradient",
    "not zeroed": "the gradients of the step before are still there",
    "factor": "the gradients are a multiple of the mean",
    "mean of means": "targets count unequally",
    "non-finite": "a loss or a gradient is not finite",
    "clip": "gradients are clipped too early, or differently on different ranks",
    "skipped step": "a rank leaves out a step",
    "never updated": "a parameter is in no optimizer",
    "schedule": "a schedule is too fast",
    "drift": "weights drift apart between or within steps, for no reason named above",
    "order of epochs": "epochs have the same order, or ranks another one",
    "buffers": "buffers differ, and are evaluated or saved",
    "evaluation": "an evaluation counts a share as the whole, or samples twice",
    "same file": "several ranks write one file",
    "noise": "ranks draw the same random numbers (a note)",
}
# What makes weights differ, and so explains a drift.
PARTS_WEIGHTS = (
    "start", "settings", "learning rate", "not averaged", "changed gradient", "non-finite", "clip",
    "skipped step", "not zeroed", "mode", "resume",
)  # fmt: skip
# What a missing average explains as well.
NEEDS_AVERAGES = {"not averaged": ("mean of means", "factor", "not zeroed", "clip")}


@dataclass(frozen=True)
class Verdict:
    """The `findings`, the one that matters first, and the `rows` of the table."""

    findings: list[Finding]
    rows: list[Row]
    ranks: list[int] = field(default_factory=list)
    steps: int = 0


def of(ranks: Sequence[Rank]) -> Verdict:
    """Return the verdict on what the ranks report; raises `CourseError` if that is too little."""
    demand(ranks)
    evidence = Evidence(ranks)
    rows: dict[str, Row] = {}
    findings: list[Finding] = []
    for rule in RULES:
        for each in rule(evidence):
            if isinstance(each, Row):
                rows[each.row] = each
            else:
                findings.append(each)
    for name in table.ORDER:
        rows.setdefault(name, Row(name, NOT_SEEN, "nothing of it was seen"))
    ordered = sorted(_causes(findings), key=_place)
    return Verdict(ordered, [rows[name] for name in table.ORDER], evidence.numbers, evidence.steps)


def _causes(findings: list[Finding]) -> list[Finding]:
    """Return the findings that no other finding explains."""
    what = {each.what for each in findings}
    gone = {"drift"} if what & set(PARTS_WEIGHTS) else set()
    for cause, consequences in NEEDS_AVERAGES.items():
        gone |= set(consequences) if cause in what else set()
    return [each for each in findings if each.what not in gone]


def _place(finding: Finding) -> tuple[bool, int]:
    """Return a finding's place; a rate that differs later does not cause what came before."""
    place = list(KNOWN).index(finding.what)
    if finding.what == "learning rate" and (finding.step or 1) > 1:
        place = list(KNOWN).index("skipped step")
    return finding.note, place


def demand(ranks: Sequence[Rank]) -> None:
    """Raise `CourseError` if the reports are too few to compare."""
    if not ranks:
        raise CourseError("No rank came to its end, so nothing was seen of any step.")
    world = max(rank.world for rank in ranks)
    if world < 2:
        raise CourseError(
            "This was one process, so there is nothing to compare. Start at least two, with "
            "torchrun --nproc-per-node 2."
        )
    if len(ranks) < world:
        raise CourseError(
            f"{len(ranks)} of {world} ranks have reported, and `right` compares all of them."
        )
    if not all(rank.backend for rank in ranks):
        raise CourseError(
            "The script never called torch.distributed.init_process_group: its ranks know nothing "
            "of one another, so nothing ties them."
        )
