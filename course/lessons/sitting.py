"""The time that a lab takes: one rule for every lab, so that every lab keeps its promise.

The rates are for a newcomer: 180 words of prose a minute, 20 lines of code a minute; 3 minutes for
a TODO and half a minute for each line that solves it; 2 minutes for each check, repairs included;
half a minute to look at a run, and at a table or picture that another cell draws; a minute to play
with an explorable. The seconds that its cells run, as its header says, are added. Code that a cell
prints is read like the lesson's; cells whose input is hidden are not read. A lab may say more if
newcomers took longer.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat

from course.lessons.lesson import Cell, Lesson, scan

MOST_MINUTES, MOST_TODOS, MOST_CHARACTERS = 70, 8, 45_000
WORDS_PER_MINUTE, LINES_PER_MINUTE = 180, 20
# A magic, a command on nodes, a job that is watched.
RUN = re.compile(
    r"%(?:torchrun|accelerate|python|timeout|why|right|fit)\b|\.(?:run|start)\(f\"|\.follow\("
)
PRINTS_CODE = re.compile(r"^ *print\(inspect\.getsource\(", re.MULTILINE)
PLAYED = re.compile(r"^explore\.\w+\(", re.MULTILINE)
CHECKED = re.compile(r"^%check\b", re.MULTILINE)
PICTURES = {"image/svg+xml", "image/png"}


@dataclass(frozen=True)
class Sitting:
    """What a learner does in one lab, counted."""

    words: int  # of prose
    lines: int  # of code that is handed out and shown, without blank ones
    printed: int  # lines of code that its cells print
    drawn: int  # cells that draw a table or a picture, except checks, runs and explorables
    todos: int
    written: int  # lines of the solutions
    checks: int
    runs: int
    explorables: int
    seconds: int  # that the solved cells run, as its header says
    characters: int  # of the lesson's file

    @property
    def minutes(self) -> int:
        """The whole of it, rounded up to five minutes."""
        return 5 * math.ceil(self._exact / 5)

    @property
    def too_many_words(self) -> int:
        """The words of prose to cut so that it fits one sitting; 0 if it does."""
        return max(0, math.ceil((self._exact - MOST_MINUTES) * WORDS_PER_MINUTE))

    @property
    def _exact(self) -> float:
        read = self.words / WORDS_PER_MINUTE + (self.lines + self.printed) / LINES_PER_MINUTE
        write = 3 * self.todos + self.written / 2 + 2 * self.checks
        look = (self.runs + self.drawn) / 2 + self.explorables + self.seconds / 60
        return read + write + look


def sitting(lab: Lesson, solution: Path) -> Sitting:
    """Count everything there is to do in a lab; `solution` is its solved notebook."""
    questions = list(lab.guesses.values())
    prose = [cell for cell in lab.cells if cell.kind == "markdown" or cell in questions]
    code = [cell for cell in lab.cells if cell.kind == "code"]
    solved = [_solved(cell) for cell in code]
    built = _built(solution)
    return Sitting(
        words=sum(len(cell.source.split()) for cell in prose),
        lines=sum(_lines(cell.source) for cell in code if _shown(cell) and cell not in questions)
        - sum(map(sum, solved)),
        printed=sum(_lines(_text(cell)) for cell in built if PRINTS_CODE.search(cell.source)),
        drawn=sum(_draws(cell) for cell in built),
        todos=sum(map(len, solved)),
        written=sum(map(sum, solved)),
        checks=len(lab.exercises),
        runs=sum(bool(RUN.search(cell.source)) for cell in code),
        explorables=sum(bool(PLAYED.search(cell.source)) for cell in code),
        seconds=lab.seconds,
        characters=len("\n".join(lab.lines)),
    )


def _shown(cell: Cell) -> bool:
    return "hide-input" not in cell.options.get("tags", [])


def _built(solution: Path) -> list[nbformat.NotebookNode]:
    """The code cells of the solved notebook, with their outputs."""
    notebook = nbformat.read(solution, nbformat.NO_CONVERT)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _text(cell: nbformat.NotebookNode) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


def _draws(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell is there for a table or a picture."""
    if any(other.search(cell.source) for other in (RUN, PLAYED, CHECKED)):
        return False
    shown = [output.get("data", {}) for output in cell.outputs]
    return any(PICTURES & data.keys() or "<table" in data.get("text/html", "") for data in shown)


def _lines(source: str) -> int:
    return sum(bool(line.strip()) for line in source.splitlines())


def _solved(cell: Cell) -> list[int]:
    """The number of lines of each solution in a cell."""
    lines = cell.source.splitlines()
    blocks, _ = scan(lines)
    return [_lines("\n".join(lines[block.begin + 1 : block.end])) for block in blocks]
