"""The marks of a lesson that code outside the room `lessons` looks for, too.

Reading a whole lesson takes jupytext, and so a second; to find these takes none.
"""

import re
from collections.abc import Iterable
from pathlib import Path

LESSONS = Path(__file__).parents[1] / "lessons"
LABS = "[0-9][0-9]*_*.md"  # the files of the labs, in order
CHECK = re.compile(r"^%check (\w+)[ \t]*$", re.MULTILINE)  # asks for the verdict on an exercise
WRITES = re.compile(r"%%writefile\b[ \t]*(.*)")  # the first line of a cell that writes a script
GUESS = re.compile(r"^%%guess (\w+)")  # a cell that asks a question before a run
EXPLORABLE = re.compile(r"\bexplore\.([a-z]\w*)\(")  # not the quiz, a class: it runs ranks
ANSWER = re.compile(r"\bit_was\(\s*[\"'](\w+)")  # shows what the run says to it
HOLD = "{} of {} checks hold"  # how the verdict that a check shows says what holds
ALL_HOLD = re.compile(HOLD.format(r"\b(\d+)", r"\1"))
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"  # around what a learner writes


def labs() -> list[Path]:
    """The lessons of the labs, in order."""
    return sorted(LESSONS.glob(LABS))


def unmarked(lines: Iterable[str]) -> list[str]:
    """The lines of a script without those that only say where a solution begins or ends."""
    return [line for line in lines if not line.lstrip().startswith((BEGIN, END))]
