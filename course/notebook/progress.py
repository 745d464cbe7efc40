"""What has passed: kept in a small file per exercise, next to the learner's scripts.

``src/kept/ring.json`` says which checks of `ring` held at the last `%check`, and holds the script
as it was when all of them held last. There is a file for each exercise so that two notebooks never
write the same one. Each is written whole or not at all.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from course.core import KEPT
from course.exercises import Outcome, Report
from course.notebook import store


@dataclass(frozen=True)
class Record:
    """What is known of one exercise; times are local, in ISO format.

    `holds` are the names of the checks that held `when` it was checked last, out of `checks`.
    `passed` says when all of them held last, and `script` is the text that did; "" for never.
    `seconds` is how long its checks have run in all.
    """

    exercise: str
    when: str
    holds: Sequence[str]
    checks: int
    passed: str = ""
    script: str = ""
    seconds: float = 0.0


def date_and_time(when: str) -> str:
    """A time for a reader: '22 Nov 2026 at 15:20'."""
    time = datetime.fromisoformat(when)
    return f"{time.day} {time:%b %Y} at {time:%H:%M}"


def read(exercise: str, src: Path) -> Record | None:
    """What is kept of an exercise, None if nothing is; a broken file is put aside with a note."""
    return store.read(_path(exercise, src), _parse, "what passes is")


def passed(exercises: Iterable[str], src: Path) -> set[str]:
    """Those of the exercises that have passed at some time."""
    return {name for name in exercises if (earlier := read(name, src)) and earlier.passed}


def _path(exercise: str, src: Path) -> Path:
    return src / KEPT / f"{exercise}.json"


def _parse(text: str) -> Record | None:
    """Read the text of a file; None if `record` did not write it."""
    try:
        parsed = Record(**json.loads(text))
        for when in (parsed.when, parsed.passed or parsed.when):
            datetime.fromisoformat(when)
        names = isinstance(parsed.holds, list) and {type(name) for name in parsed.holds} <= {str}
        numbers = isinstance(parsed.checks, int) and isinstance(parsed.seconds, int | float)
        return parsed if names and numbers and isinstance(parsed.script, str) else None
    except (ValueError, TypeError):
        return None


def record(report: Report, script: str, src: Path, seconds: float = 0.0) -> None:
    """Keep what a report says of `script`, the text that was checked, and how long that took.

    An exercise that is not begun, or was not judged to the end, leaves no record.
    """
    if not report.begun or not report.judged:
        return
    before = read(report.exercise, src)
    holds = [result.check for result in report.results if result.outcome == Outcome.PASSED]
    spent = seconds + (before.seconds if before else 0.0)
    new = Record(report.exercise, store.now(), holds, len(report.checks), seconds=spent)
    if report.ok:
        new = replace(new, passed=new.when, script=script)
    elif before:
        new = replace(new, passed=before.passed, script=before.script)
    write(new, src)


def write(entry: Record, src: Path) -> None:
    """Write what `read` will read; if that fails, a sentence says so."""
    lost = "This result is not kept for the map of the labs"
    store.write(_path(entry.exercise, src), asdict(entry), lost)
