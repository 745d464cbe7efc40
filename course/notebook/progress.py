"""Store which checks have passed, in one small file per exercise next to the learner's scripts.

``src/kept/ring.json`` has the checks of `ring` that passed at the last `%check`, and the script as
it was when all of them last passed. Each exercise has its own file, so two notebooks never write
the same one. A file is written atomically.
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
    """The stored result of one exercise; times are local, in ISO format.

    `checked_at` is the time of the last `%check`, `passed_checks` are the names of the checks that
    passed then, and `check_count` is the number of all checks. `passed_at` is the time when all of
    them last passed, and `script` the text that passed; both are "" if that never happened.
    `seconds` is the total time for which its checks have run.
    """

    exercise: str
    checked_at: str
    passed_checks: Sequence[str]
    check_count: int
    passed_at: str = ""
    script: str = ""
    seconds: float = 0.0


KEYS = {"checked_at": "when", "passed_checks": "holds", "check_count": "checks"}  # in the files
KEYS |= {"passed_at": "passed"}
FIELDS = {key: name for name, key in KEYS.items()}


def date_and_time(when: str) -> str:
    """A time for a reader: '22 Nov 2026 at 15:20'."""
    time = datetime.fromisoformat(when)
    return f"{time.day} {time:%b %Y} at {time:%H:%M}"


def read(exercise: str, src: Path) -> Record | None:
    """Read the stored result of an exercise, if any; rename a broken file, and print a note."""
    return store.read(_path(exercise, src), _parse, "what passes is")


def passed(exercises: Iterable[str], src: Path) -> set[str]:
    """Select the exercises that have ever passed."""
    return {name for name in exercises if (earlier := read(name, src)) and earlier.passed_at}


def _path(exercise: str, src: Path) -> Path:
    return src / KEPT / f"{exercise}.json"


def _parse(text: str) -> Record | None:
    """Parse the text of a file; None if `record` cannot have written it."""
    try:
        stored = dict(json.loads(text))
        parsed = Record(**{FIELDS.get(key, key): value for key, value in stored.items()})
        for when in (parsed.checked_at, parsed.passed_at or parsed.checked_at):
            datetime.fromisoformat(when)
        passed = parsed.passed_checks
        names = isinstance(passed, list) and {type(name) for name in passed} <= {str}
        numbers = isinstance(parsed.check_count, int) and isinstance(parsed.seconds, int | float)
        return parsed if names and numbers and isinstance(parsed.script, str) else None
    except store.BROKEN:
        return None


def record(report: Report, script: str, src: Path, seconds: float = 0.0) -> None:
    """Store the report on `script`, the text that was checked, and the `seconds` that it took.

    Nothing is stored if the exercise is not begun, or if a check was not judged.
    """
    if not report.begun or not report.judged:
        return
    before = read(report.exercise, src)
    passed = [result.check for result in report.results if result.outcome == Outcome.PASSED]
    spent = seconds + (before.seconds if before else 0.0)
    new = Record(report.exercise, store.now(), passed, len(report.check_names), seconds=spent)
    if report.ok:
        new = replace(new, passed_at=new.checked_at, script=script)
    elif before:
        new = replace(new, passed_at=before.passed_at, script=before.script)
    write(new, src)


def write(entry: Record, src: Path) -> None:
    """Store a result for `read`; if that fails, print a sentence."""
    lost = "This result is not kept for the map of the labs"
    fields = {KEYS.get(name, name): value for name, value in asdict(entry).items()}
    store.write(_path(entry.exercise, src), fields, lost)
