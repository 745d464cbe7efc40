"""What has passed: kept in a small file per exercise, beside the learner's scripts.

``src/kept/ring.json`` says which checks of `ring` held at the last `%check`, and holds the script
as it was when all of them held last. There is a file for each exercise so that two notebooks never
write the same one. Each is written whole or not at all.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from course.core import write_whole
from course.exercises import Outcome, Report

FOLDER = "kept"  # in the folder of the scripts; git ignores it


@dataclass(frozen=True)
class Kept:
    """What is known of one exercise; times are local, in ISO format.

    `holds` are the names of the checks that held `when` it was checked last, out of `checks`.
    `passed` says when all of them held last, and `script` is the text that did; "" for never.
    """

    exercise: str
    when: str
    holds: Sequence[str]
    checks: int
    passed: str = ""
    script: str = ""


def now() -> str:
    """The time, to the second."""
    return datetime.now().isoformat(timespec="seconds")


def spoken(when: str) -> str:
    """A time as one says it: '22 Nov 2026 at 15:20'."""
    time = datetime.fromisoformat(when)
    return f"{time.day} {time:%b %Y} at {time:%H:%M}"


def read(exercise: str, src: Path) -> Kept | None:
    """What is kept of an exercise; None where nothing is. A broken file is put aside, and said."""
    path = src / FOLDER / f"{exercise}.json"
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        text = ""
    kept = _parse(text)
    if kept is None:
        _put_aside(path)
    return kept


def _parse(text: str) -> Kept | None:
    """What a file says; None where it is not what `record` writes."""
    try:
        kept = Kept(**json.loads(text))
        for when in (kept.when, kept.passed or kept.when):
            datetime.fromisoformat(when)
        names = isinstance(kept.holds, list) and {type(name) for name in kept.holds} <= {str}
        numbers = isinstance(kept.checks, int) and isinstance(kept.script, str)
        return kept if names and numbers else None
    except (ValueError, TypeError):
        return None


def _put_aside(path: Path) -> None:
    aside = path.with_name(f"{path.name}.broken-{datetime.now():%Y-%m-%d-%H%M%S}")
    try:
        path.rename(aside)
    except OSError as error:
        print(f"{path} cannot be read and is left out: {error.strerror}.")
        return
    print(
        f"{path} could not be read. It is now {aside.name}, and what passes is kept from here on."
    )


def record(report: Report, script: str, src: Path) -> None:
    """Keep what a report says of `script`, the text that was checked.

    Nothing is kept of an exercise that nobody has begun, or that was not judged to the end.
    """
    if not report.begun or not report.judged:
        return
    before = read(report.exercise, src)
    holds = [result.check for result in report.results if result.outcome == Outcome.PASSED]
    kept = Kept(report.exercise, now(), holds, len(report.asked))
    if report.ok:
        kept = replace(kept, passed=kept.when, script=script)
    elif before:
        kept = replace(kept, passed=before.passed, script=before.script)
    write(kept, src)


def write(kept: Kept, src: Path) -> None:
    """Write what `read` will read.

    Where that is not possible, a sentence says so: the learner came for the verdict on the code.
    """
    path = src / FOLDER / f"{kept.exercise}.json"
    try:
        write_whole(path, json.dumps(asdict(kept), indent=1, ensure_ascii=False) + "\n")
    except (OSError, UnicodeEncodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "its text is not UTF-8"
        print(f"This result is not kept for the map of the labs: {path} cannot be written: {why}.")
