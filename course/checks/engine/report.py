"""The verdict on an exercise: a small table in the notebook, lines in a terminal."""

import html
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from course.checks.engine.catalogue import node_of
from course.core import CourseError, todo
from course.drawing import html_card, palette
from course.launch import Event, Run, launch

SESSION = Path(__file__).with_name("session.py")
LIMIT_S = 3600.0  # of all checks of an exercise together; each has its own limit, too
SAME = "the same as above"
WHERE = re.compile(r"^(With \d+ ranks, rank \d+|Your code) ")
PRINTED = "What your code printed:"
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
    def share(self) -> float:
        """Which part of the checks hold, from 0 to 1."""
        held = sum(result["outcome"] == "passed" for result in self.results)
        return held / max(len(self.results), 1)

    @property
    def verdict(self) -> str:
        """One line."""
        todos = dict.fromkeys(
            result["message"] for result in self.results if result["outcome"] == "open"
        )
        open_ones = f"still to write: {todo.in_sentences(todos)}" if todos else ""
        if len(self._shown()) == 0:
            return f"{self.exercise}: {open_ones}"
        passed = sum(result["outcome"] == "passed" for result in self.results)
        held = f"{self.exercise}: {passed} of {len(self.results)} checks hold"
        return f"{held}; {open_ones}" if todos else f"{held}."

    def _shown(self) -> list[dict]:
        """Each check and what it says, where something is written that can be judged.

        A message that several checks have, such as that of a typo, is there once, whatever the rank
        that met it first.
        """
        if all(result["outcome"] == "open" for result in self.results):
            return []
        shown, said = [], set()
        for result in self.results:
            message = WHERE.sub("", result["message"])
            again = message in said
            said |= {message} - {""}
            shown.append(result | ({"message": SAME, "printed": ""} if again else {}))
        return shown

    def __repr__(self) -> str:
        lines = [self.verdict]
        for result in self._shown():
            lines.append(f"  {MARKS[result['outcome']]} {result['claim']}")
            lines += [f"      {line}" for line in result["message"].splitlines()]
            lines += [f"      Hint: {result['hint']}"] if result["hint"] else []
            lines += [f"      {PRINTED}"] if result["printed"] else []
            lines += [f"      {line}" for line in result["printed"].splitlines()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(_row(result) for result in self._shown())
        table = "width:100%;margin-top:6px;border-collapse:collapse"
        return html_card.card(
            f'<b>{html.escape(self.verdict)}</b><table style="{table}">{rows}</table>',
            "padding:10px 14px;max-width:732px",
        )


def _row(result: dict) -> str:
    mark, colour = MARKS[result["outcome"]], COLOURS[result["outcome"]]
    cell = f"text-align:left;vertical-align:top;padding:3px 8px;{html_card.CLEAR}"
    claim, details = _marked(result["claim"]), _marked(result["message"])
    if result["hint"]:
        details += f"\n<i>{_marked(result['hint'])}</i>"
    if result["printed"]:
        details += f"\n{PRINTED}\n<code>{html.escape(result['printed'])}</code>"
    if details:
        details = f'<div style="white-space:pre-wrap;color:{palette.MUTED}">{details.strip()}</div>'
    return (
        f'<tr style="{html_card.CLEAR}">'
        f'<td style="{cell};color:{colour};width:1.2em"><b>{mark}</b></td>'
        f'<td style="{cell};color:{palette.INK}">{claim}{details}</td></tr>'
    )


def _marked(text: str) -> str:
    """Text as HTML; what stands between backticks is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))


def check(
    name: str,
    src: str = "src",
    isolated: bool = False,
    watch: Callable[[Run, Event], None] = lambda run, event: None,
) -> Report:
    """Check one exercise in a process of its own; `isolated` runs the learner's code in a sandbox.

    `watch` is told of the process; its `Progress` says which check is running. Raises `CourseError`
    for an unknown name, and where the checks gave none.
    """
    node_of(name)
    with tempfile.TemporaryDirectory(prefix="course-check-") as folder:
        path = Path(folder) / "report.json"
        words = ["python", str(SESSION), *["--isolated"] * isolated, str(path), src, name]
        run = launch(words, limit=LIMIT_S, watch=watch)
        # Or checks would crowd out the learner's own runs.
        shutil.rmtree(run.log_dir, ignore_errors=True)
        if not path.is_file():
            raise CourseError(
                f"The checks of {name} did not end: {run.text(0)[-500:] or run.reason}"
            )
        return Report(name, json.loads(path.read_text()))


def check_folder(
    src: Path,
    names: Sequence[str] = (),
    junit: Path | None = None,
    isolated: bool = False,
    begun: Callable[[str], None] = lambda text: None,
) -> list[Report]:
    """Check the scripts in `src` for the exercises `names` (all if empty), in this process.

    `junit` is where a JUnit report goes; `isolated` runs the learner's code in a sandbox; `begun`
    is told of each check when it begins. Raises `CourseError` for an unknown name, and where this
    box cannot isolate.
    """
    from course.checks.engine import session  # imports pytest, which takes its time

    by_name: dict[str, list[dict]] = {}
    for result in session.run(src, names, junit, isolated=isolated, begun=begun):
        by_name.setdefault(result.exercise, []).append(asdict(result))
    return [Report(name, results) for name, results in by_name.items()]
