"""The marks in a lesson that code outside the package `lessons` also looks for.

Parsing a whole lesson needs jupytext, which takes a second to import; finding these takes no time.
"""

import html
import re
from collections.abc import Iterable
from pathlib import Path

LESSONS = Path(__file__).parents[1] / "lessons"
LABS = "[0-9][0-9]*_*.md"  # the files of the labs, in order
CHECK = re.compile(r"^%check (\w+)[ \t]*$", re.MULTILINE)  # shows the verdict on an exercise
WRITES = re.compile(r"%%writefile\b[ \t]*(.*)")  # the first line of a cell that writes a script
GUESS = re.compile(r"^%%guess (\w+)")  # a cell that asks a question before a run
EXPLORABLE = re.compile(r"\bexplore\.([a-z]\w*)\(")  # not the quiz, a class that runs ranks
ANSWER = re.compile(r"\bit_was\(\s*[\"'](\w+)")  # shows the run's answer to that question
PASSED_COUNT = "{} of {} checks hold"  # how a verdict, also a stored one, counts passed checks
ALL_PASSED = re.compile(PASSED_COUNT.format(r"\b(\d+)", r"\1"))
CODE, EMPHASIS = re.compile(r"`([^`]+)`"), re.compile(r"\*([^*]+)\*")  # in a sentence
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"  # around the part that a learner writes


def lab_paths() -> list[Path]:
    """The files of the labs' lessons, in order."""
    return sorted(LESSONS.glob(LABS))


def unmarked(lines: Iterable[str]) -> list[str]:
    """The lines of a script without those that only mark where a solution begins or ends."""
    return [line for line in lines if not line.lstrip().startswith((BEGIN, END))]


def as_html(sentence: str) -> str:
    """A sentence of a lesson as HTML."""
    text = CODE.sub(r"<code>\1</code>", html.escape(sentence))
    return EMPHASIS.sub(r"<em>\1</em>", text)
