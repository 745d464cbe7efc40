"""The table of labs and the counts in the README, which follow from the lessons."""

import re
from pathlib import Path

from course.core import write_atomically
from course.lessons.lesson import CORE, Lesson, labs

FILE = "README.md"
MARK = "<!-- `make prose` writes this table and the numbers of labs, hours and exercises. -->\n\n"
HEAD = "| lab | the question | minutes | |\n|---|---|---|---|"


def write_readme(root: Path) -> None:
    """Bring the README up to date, if it has the mark of a generated table."""
    old, new = _texts(root)
    if new != old:
        write_atomically(root / FILE, new)


def stale_readme(root: Path) -> list[str]:
    """One line if the README's table or counts are not what the lessons make."""
    old, new = _texts(root)
    return [f"{FILE} is not what the lessons make"] if new != old else []


def _texts(root: Path) -> tuple[str, str]:
    """The README as it is, and as the lessons make it."""
    path = root / FILE
    old = path.read_text(encoding="utf-8") if path.is_file() else ""
    before, mark, rest = old.partition(MARK)
    if not mark:
        return old, old
    every = labs(root)
    new = "\n".join([before + mark + HEAD, *map(_row, every)]) + "\n\n" + rest.partition("\n\n")[2]
    hours = round(sum(lab.minutes for lab in every) / 60)
    exercises = sum(len(lab.exercises) for lab in every)
    total = f"All labs take {hours} hours and have {exercises} exercises"
    new = re.sub(r"these \d+ Jupyter labs", f"these {len(every)} Jupyter labs", new)
    return old, re.sub(r"All labs take \d+ hours and have \d+ exercises", total, new)


def _row(lab: Lesson) -> str:
    core = " ●" if lab.number in CORE else ""
    return (
        f"| [{lab.name}](labs/{lab.name}.ipynb){core} | {lab.title} | {lab.minutes} "
        f"| [solved](solutions/{lab.name}.ipynb) |"
    )
