"""Open exercises: a TODO is a ``raise NotImplementedError("TODO 2: ...")``, not yet replaced."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from course.core.files import read_script

IN_WORDS = 2  # so many TODOs fit into one line with their words
# Each of these matches within one line, since a learner's code decides what its lines are.
OPEN = re.compile(
    r'^[ \t]*raise NotImplementedError\((?P<todo>"TODO \d+: (?:[^"\\\n]|\\.)*")\)[ \t]*$',
    re.MULTILINE,
)
FRAME = re.compile(r'File "(?P<file>[^"]+)", line \d+')
MET = re.compile(r"NotImplementedError: TODO \d+: ")


def open_todos(script: Path) -> list[str]:
    """The TODOs of a script that are still open, in its order."""
    try:
        source = read_script(script)
    except OSError:
        return []
    return [_text(match["todo"]) for match in OPEN.finditer(source)]


def numbers(source: str) -> list[int]:
    """The numbers of the TODOs that are open in the text of a script, in its order."""
    return [int(re.findall(r"\d+", match["todo"])[0]) for match in OPEN.finditer(source)]


def script_of_open_todo(traceback: str) -> Path | None:
    """The script whose open TODO raised this traceback, None if something else did."""
    innermost = None
    for line in traceback.splitlines():
        if frame := FRAME.search(line):
            innermost = Path(frame["file"])
        elif innermost and MET.match(line):
            return innermost
    return None


def _text(literal: str) -> str:
    """The text of a string literal, or the literal itself if Python cannot read it."""
    try:
        return ast.literal_eval(literal)
    except (SyntaxError, ValueError):
        return literal[1:-1]


def sentence(script: Path) -> str:
    """One line about what is still to write: one or two TODOs in full, more by their numbers."""
    return (
        f"Still to write in {script.name}: {summary(open_todos(script))} Then run this cell again."
    )


def summary(todos: list[str]) -> str:
    """One or two TODOs in full, more by their numbers."""
    return in_sentences(todos) if len(todos) <= IN_WORDS else f"TODO {_number_ranges(todos)}."


def _number_ranges(todos: list[str]) -> str:
    """The numbers of some TODOs, such as "2, 5 to 7"."""
    ranges: list[list[int]] = []
    for number in (int(re.findall(r"\d+", text)[0]) for text in todos):
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in ranges)


def split(text: str) -> list[str]:
    """Split a text that `in_sentences` made into its TODOs; a text without any stays whole."""
    return re.split(r" (?=TODO \d+: )", text)


def in_sentences(texts: Iterable[str]) -> str:
    """Join texts such as TODOs, each with its full stop or question mark."""
    return " ".join(text if text.endswith((".", "?", "!")) else f"{text}." for text in texts)
