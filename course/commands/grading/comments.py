"""Read a teacher's remarks, and the points that replace those of the checks.

Both are in a TOML file with a table for each learner. The file is created once, and only read from
then on.
"""

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course.core import CourseError, write_atomically

HEADER = """\
# Your remarks, and points of yours. `grade` reads this file each time and never changes it.
#
#     ["Ada Lovelace"]
#     remark = "The ring is right; the check was too strict."
#     ring = 1        # points of an exercise, in place of those that its checks give
#     late = 0        # days, in place of those that `grade` counts
"""


@dataclass(frozen=True)
class Comment:
    """A teacher's entry for a learner: `points` by exercise, `late` in days (None: as counted)."""

    remark: str = ""
    points: dict[str, float] = field(default_factory=dict)
    late: float | None = None


def read(path: Path, learners: Iterable[str], names: Sequence[str]) -> dict[str, Comment]:
    """The comments by learner; creates the file if it does not exist.

    Raises `CourseError` for an unknown learner or an entry that cannot be read.
    """
    learners = list(learners)
    if not path.exists():
        tables = "".join(f"\n[{json.dumps(learner, ensure_ascii=False)}]\n" for learner in learners)
        write_atomically(path, HEADER + tables)
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"The comments in {path} cannot be read: {error}.") from None
    return {
        learner: _comment(path, learner, entry, names)
        for learner, entry in entries.items()
        if _has_content(path, learner, entry, learners)
    }


def _has_content(path: Path, learner: str, entry: object, learners: Sequence[str]) -> bool:
    """Whether an entry is not empty; an empty one may name a learner who has left the class."""
    if learner not in learners and entry:
        raise CourseError(f"{path} has a comment on {learner!r}, who is not in this class.")
    return bool(entry)


def _comment(path: Path, learner: str, entry: object, names: Sequence[str]) -> Comment:
    if not isinstance(entry, dict):
        table = f"[{json.dumps(learner, ensure_ascii=False)}]"
        raise CourseError(
            f"{path}: the entry of {learner!r} is not a table: write it below {table}."
        )
    points = {name: value for name, value in entry.items() if name not in ("remark", "late")}
    for name, value in points.items():
        if name not in names or not is_points(value):
            raise CourseError(f"{path}: {name} = {value} is not an exercise and its points.")
    late, remark = entry.get("late"), entry.get("remark", "")
    if not isinstance(remark, str) or not (late is None or is_points(late)):
        raise CourseError(f"{path}: `remark` is a text and `late` a number of days ({learner!r}).")
    return Comment(remark, points, late)


def is_points(value: object) -> bool:
    """Whether a value is a number of points: finite and not negative."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < float("inf")
