"""Rules on files that several ranks write, and on random numbers that ranks have in common."""

import os

from course.core import words
from course.diagnostics.right import causes, table
from course.diagnostics.right.evidence import Evidence
from course.diagnostics.right.table import DIFFERS, EQUAL, NOT_SEEN, Result, Row, Rule
from course.diagnostics.right.thresholds import MAJORITY


def files(evidence: Evidence) -> Result:
    """Do several ranks overwrite the same file?"""
    writers: dict[tuple[str, str], dict[int, str]] = {}
    for report in evidence.reports:
        for file in report.written:
            writers.setdefault((report.host, file.path), {})[report.rank] = file.line
    shared = {path: ranks for (_, path), ranks in writers.items() if len(ranks) > 1}
    if not shared:
        any_written = any(report.written for report in evidence.reports)
        says = "each file is written by one rank" if any_written else "no file was overwritten"
        return [Row(table.FILES, EQUAL if any_written else NOT_SEEN, says)]
    path, ranks = next(iter(shared.items()))
    name = os.path.basename(path)
    where = next(iter(ranks.values()))
    finding = causes.SAME_FILE.finding(
        f"{words.ranks(ranks, True)} all write {name} (at {where}): the last one wins, and two "
        "at once may mix what they write.",
        where=where,
    )
    return [Row(table.FILES, DIFFERS, f"{name} by {words.ranks(ranks)}"), finding]


def noise(evidence: Evidence) -> Result:
    """Do the models of all ranks draw the same random numbers?"""
    passes = [
        on_ranks
        for step_on_ranks in evidence.steps_on_ranks
        for on_ranks in evidence.backward_passes(step_on_ranks)
    ]
    drawn = [[backward_pass.noise for backward_pass in on_ranks] for on_ranks in passes]
    drawn = [marks for marks in drawn if all(marks)]
    same = [marks for marks in drawn if len(set(marks)) == 1]
    if not drawn:
        return [Row(table.NOISE, NOT_SEEN, "no model drew random numbers on the CPU")]
    if len(same) <= MAJORITY * len(drawn):
        return [Row(table.NOISE, DIFFERS, "each rank draws its own")]
    row = Row(table.NOISE, EQUAL, "the ranks draw the same, such as for dropout")
    if evidence.why_split:
        return [row]
    finding = causes.NOISE.finding(
        "The ranks draw the same random numbers in the model, so dropout hides the same places on "
        "each. Many scripts do, and it costs little.",
        step=1,
        where=passes[0][0].called,
        note=True,
    )
    return [row, finding]


RULES: tuple[Rule, ...] = (files, noise)
