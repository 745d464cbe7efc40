"""The answer of `right`: the faults in words, and the table of what was compared."""

import html
from dataclasses import replace
from pathlib import Path

from course.core import words
from course.diagnostics.answers import output
from course.diagnostics.answers.paragraph import paragraph
from course.diagnostics.finding import Finding
from course.diagnostics.numerics import reader
from course.diagnostics.numerics.training import TrainingReport
from course.diagnostics.right import verdict
from course.diagnostics.right.table import DIFFERS, MUST_DIFFER, NOT_SEEN, Row

NAME, STATE = 36, 10  # the widths of the table's first two columns, in characters


def right_answer(folder: Path) -> "RightAnswer | None":
    """Judge the ranks that have reported to a folder; None if none has.

    Raises `CourseError` if the reports are too few to judge by.
    """
    ranks = [reader.read(path) for path in sorted(folder.glob("rank*.json"))]
    return RightAnswer(ranks) if ranks else None


class RightAnswer:
    """A verdict to show: a terminal prints its text, a notebook shows a table.

    Raises `CourseError` if the reports are too few to judge by.
    """

    def __init__(self, ranks: list[TrainingReport]) -> None:
        self.verdict = verdict.judge(ranks)

    @property
    def findings(self) -> list[Finding]:
        """The findings, the most important one first."""
        return self.verdict.findings

    @property
    def rows(self) -> list[Row]:
        """The rows of the table: what was compared, and how it compares."""
        return self.verdict.rows

    @property
    def title(self) -> str:
        """The answer in a sentence."""
        faults = [finding for finding in self.findings if not finding.note]
        if not self.verdict.steps:
            return "No step of an optimizer was seen, so nothing of one was compared."
        if not faults:
            steps = words.plural(self.verdict.steps, "step")
            return f"Nothing wrong was seen in the {steps} watched."
        return f"Wrong: {faults[0].what}."

    def plain(self) -> dict[str, object]:
        """The answer as a dict for JSON, without the findings, which all tools write alike."""
        return {
            "ranks": len(self.verdict.ranks),
            "steps": self.verdict.steps,
            "rows": [row.plain() for row in self.rows],
        }

    def __str__(self) -> str:
        findings = output.text([add_place(finding) for finding in self.findings])
        head = f"{self.title} What was compared on {words.plural(len(self.verdict.ranks), 'rank')}:"
        parts = [findings, head, *map(line, self.rows)]
        return "\n".join(filter(None, parts))

    def __repr__(self) -> str:
        return f"<RightAnswer: {self.title}>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self._html(), "text/plain": str(self)}

    def _html(self) -> str:
        findings = "".join(
            f"<p><b>{html.escape(finding.what.capitalize())}.</b> {html.escape(finding.says)} "
            f"<i>Cure:</i> {html.escape(finding.cure)}</p>"
            for finding in map(add_place, self.findings)
        )
        rows = "".join(
            f"<tr><td style='text-align:left'>{html.escape(row.name)}</td><td>{state(row)}</td>"
            f"<td style='text-align:left'>{html.escape(row.says)}</td></tr>"
            for row in self.rows
        )
        return f"{findings}<p>{html.escape(self.title)}</p><table>{rows}</table>"


def state(row: Row) -> str:
    """The state of a row, as the table shows it."""
    if row.name in MUST_DIFFER and row.state != NOT_SEEN:
        return "differs ✓" if row.state == DIFFERS else "equal ✗"
    return row.state


def add_place(finding: Finding) -> Finding:
    """The finding, with its line added to the text unless that names it already."""
    if not finding.where or finding.where in finding.says:
        return finding
    return replace(finding, says=f"{finding.says} See {finding.where}.")


def line(row: Row) -> str:
    """A row of the table as wrapped text."""
    head = f"  {row.name:{NAME}}{state(row):{STATE}}"
    return paragraph(row.says, head, " " * len(head))
