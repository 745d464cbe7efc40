"""The verdict on an exercise: a small table in the notebook, lines in a terminal, a file for a teacher's tools."""

import html
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from course.checks.engine.catalogue import node_of
from course.core import CourseError
from course.drawing import palette
from course.launch import launch

SESSION = Path(__file__).with_name("session.py")
LIMIT_S = 600.0  # of all checks of an exercise together
MARKS = {"passed": "✓", "failed": "✗", "open": "○", "not run": "–"}
COLOURS = {
    "passed": palette.GOOD,
    "failed": palette.ALARM,
    "open": palette.MUTED,
    "not run": palette.MUTED,
}


class Report:
    """What the checks of one exercise found; a notebook shows it as a table."""

    def __init__(self, exercise: str, results: Sequence[dict]) -> None:
        self.exercise, self.results = exercise, list(results)

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return bool(self.results) and all(result["outcome"] == "passed" for result in self.results)

    @property
    def verdict(self) -> str:
        """One line."""
        todos = dict.fromkeys(
            result["message"] for result in self.results if result["outcome"] == "open"
        )
        if todos:
            return f"{self.exercise}: still to write: {'; '.join(todos)}."
        passed = sum(result["outcome"] == "passed" for result in self.results)
        return f"{self.exercise}: {passed} of {len(self.results)} checks hold."

    def _shown(self) -> list[dict]:
        """Checks of what is written; those that only met an open TODO are in the verdict."""
        return [result for result in self.results if result["outcome"] != "open"]

    def __repr__(self) -> str:
        lines = [self.verdict]
        for result in self._shown():
            lines.append(f"  {MARKS[result['outcome']]} {result['claim']}")
            lines += [f"      {line}" for line in result["message"].splitlines()]
            lines += [f"      Hint: {result['hint']}"] if result["hint"] else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(_row(result) for result in self._shown())
        return (
            f'<div style="background:{palette.CARD};color:{palette.INK};border:1px solid {palette.RULE};'
            f'border-radius:8px;padding:10px 14px;max-width:732px"><b>{html.escape(self.verdict)}</b>'
            f'<table style="width:100%;margin-top:6px;border-collapse:collapse">{rows}</table></div>'
        )


def _row(result: dict) -> str:
    outcome = result["outcome"]
    cell = "text-align:left;vertical-align:top;padding:3px 8px;background:transparent"
    details = html.escape(result["message"])
    if result["hint"]:
        details += f"\n<i>{html.escape(result['hint'])}</i>"
    if details:
        details = f'<div style="white-space:pre-wrap;color:{palette.MUTED}">{details.strip()}</div>'
    return (
        f'<tr style="background:transparent"><td style="{cell};color:{COLOURS[outcome]};width:1.2em"><b>'
        f'{MARKS[outcome]}</b></td><td style="{cell};color:{palette.INK}">{html.escape(result["claim"])}{details}</td>'
        "</tr>"
    )


def check(name: str, src: str = "src") -> Report:
    """Check one exercise in a process of its own; raises `CourseError` for an unknown name."""
    node_of(name)
    with tempfile.TemporaryDirectory(prefix="course-check-") as folder:
        path = Path(folder) / "report.json"
        run = launch(["python", str(SESSION), str(path), src, name], limit=LIMIT_S)
        shutil.rmtree(
            run.log_dir, ignore_errors=True
        )  # or checks would crowd out the learner's runs
        if not path.is_file():
            raise CourseError(
                f"The checks of {name} did not end: {run.text(0)[-500:] or run.reason}"
            )
        return Report(name, json.loads(path.read_text()))
