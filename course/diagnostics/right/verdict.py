"""The verdict: all findings, causes before consequences, and the table of what was compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from course.core import CourseError
from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import TrainingReport
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence
from course.diagnostics.right.rules import RULES
from course.diagnostics.right.table import NOT_SEEN, Row
from course.diagnostics.watch import report_files

# A finding is left out if there is also a finding of one of the causes that explain it.
EXPLAINED_BY = {
    # Each of these makes weights differ, so a drift needs no further explanation.
    causes.DRIFT: (
        causes.START, causes.SETTINGS, causes.LEARNING_RATE, causes.NOT_AVERAGED,
        causes.CHANGED_GRADIENT, causes.NON_FINITE, causes.CLIP, causes.SKIPPED_STEP,
        causes.NOT_ZEROED, causes.MODE, causes.RESUME,
    ),
    # These follow if the gradients are not averaged at all.
    causes.MEAN_OF_MEANS: (causes.NOT_AVERAGED,),
    causes.FACTOR: (causes.NOT_AVERAGED,),
    causes.NOT_ZEROED: (causes.NOT_AVERAGED,),
    causes.CLIP: (causes.NOT_AVERAGED,),
}  # fmt: skip
ORDER = [cause.name for cause in causes.ALL]


@dataclass(frozen=True)
class Verdict:
    """The findings, the most important first, the rows of the table, and what they rest on.

    `ranks` are the ranks that were compared; `steps` is the number of steps.
    """

    findings: list[Finding]
    rows: list[Row]
    ranks: list[int] = field(default_factory=list)
    steps: int = 0


def judge(ranks: Sequence[TrainingReport]) -> Verdict:
    """Judge the ranks' reports by all rules; raises `CourseError` if there are too few reports."""
    require_all_reports(ranks)
    evidence = Evidence(ranks)
    rows: dict[str, Row] = {}
    findings: list[Finding] = []
    for rule in RULES:
        for result in rule(evidence):
            if isinstance(result, Row):
                rows[result.name] = result
            else:
                findings.append(result)
    for name in table.ORDER:
        rows.setdefault(name, Row(name, NOT_SEEN, "nothing of it was seen"))
    ordered = sorted(_unexplained(findings), key=_sort_key)
    in_order = [rows[name] for name in table.ORDER]
    return Verdict(ordered, in_order, evidence.ranks, evidence.step_count)


def _unexplained(findings: list[Finding]) -> list[Finding]:
    """The findings that no other finding explains."""
    names = {finding.what for finding in findings}
    explained = {
        cause.name
        for cause, explanations in EXPLAINED_BY.items()
        if any(explanation.name in names for explanation in explanations)
    }
    return [finding for finding in findings if finding.what not in explained]


def _sort_key(finding: Finding) -> tuple[bool, int]:
    """The finding's sort key: notes come last, and causes come before consequences.

    Learning rates that differ only after the first step cannot have caused what came before, so
    they rank with skipped steps.
    """
    name = finding.what
    if name == causes.LEARNING_RATE.name and (finding.step or 1) > 1:
        name = causes.SKIPPED_STEP.name
    return finding.note, ORDER.index(name)


def require_all_reports(ranks: Sequence[TrainingReport]) -> None:
    """Raise `CourseError` if a rank's report is missing, or if there is nothing to compare."""
    report_files.require_ranks(ranks)
    world = max(rank.world for rank in ranks)
    if len(ranks) < world:
        raise CourseError(
            f"{len(ranks)} of {world} ranks have reported, and `right` compares all of them."
        )
