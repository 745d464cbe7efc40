"""Estimate the time that a lab takes, by one rule for all labs.

The rates are those of a newcomer:

- reading: 180 words of prose, 20 lines of code, or 40 printed lines per minute
- writing: 3 minutes per TODO, and half a minute per line of its solution, or a whole minute per
  line if the solution has more than six
- checking: 2 minutes per check, repairs included
- looking: half a minute per run, and per table or picture that another cell draws; a minute to
  play with an explorable
- waiting: the seconds that the cells run, from the header

Code that a cell prints is read at the rate of code; cells with hidden input are not read. A section
headed "If you have time: ..." is not counted. A lab may promise more minutes than this estimate if
newcomers took longer.
"""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat

from course.core import lesson_marks
from course.lessons.lesson import Cell, Lesson, find_solutions

MOST_MINUTES, MOST_TODOS, MOST_CHARACTERS = 70, 8, 45_000
WORDS_PER_MINUTE, LINES_PER_MINUTE, PRINTED_PER_MINUTE = 180, 20, 40
SHORT_SOLUTION = 6  # lines
OPTIONAL = "## If you have time: "
# A launch by a magic, a command on practice nodes, or a job that is followed.
RUN = re.compile(
    r"%(?:torchrun|accelerate|python|timeout|why|right|fit)\b|\.(?:run|start)\(f\"|\.follow\("
)
PRINTS_CODE = re.compile(r"^ *print\(inspect\.getsource\(", re.MULTILINE)
EXPLORABLE = re.compile(r"^explore\.\w+\(", re.MULTILINE)  # the quiz counts, too
PICTURES = {"image/svg+xml", "image/png"}


@dataclass(frozen=True)
class Sitting:
    """The amount of each kind of work in one lab."""

    words: int  # of prose
    lines: int  # of code that is handed out and shown, without blank ones
    listed: int  # lines of code that its cells print
    printed: int  # lines of other text that its cells print
    drawn: int  # cells that draw a table or a picture, except checks, runs and explorables
    todos: int
    written: float  # minutes to write the lines of the solutions
    checks: int
    runs: int
    explorables: int
    seconds: int  # that the solved cells run, from the header
    characters: int  # of the lesson's file

    @property
    def minutes(self) -> int:
        """The total in minutes, rounded up to a multiple of five."""
        return 5 * math.ceil(self._exact_minutes / 5)

    @property
    def too_many_words(self) -> int:
        """The words of prose to cut to make the lab fit one sitting; 0 if it does."""
        return max(0, math.ceil((self._exact_minutes - MOST_MINUTES) * WORDS_PER_MINUTE))

    @property
    def _exact_minutes(self) -> float:
        read = self.words / WORDS_PER_MINUTE + (self.lines + self.listed) / LINES_PER_MINUTE
        read += self.printed / PRINTED_PER_MINUTE
        write = 3 * self.todos + self.written + 2 * self.checks
        look = (self.runs + self.drawn) / 2 + self.explorables + self.seconds / 60
        return read + write + look


def sitting(lab: Lesson, solution: Path) -> Sitting:
    """Count the work in a lab; `solution` is the path of its solved notebook."""
    cells = _without_optional(lab.cells)
    questions = [cell for cell in cells if cell in lab.guesses.values()]
    prose = [cell for cell in cells if cell.kind == "markdown" or cell in questions]
    code = [cell for cell in cells if cell.kind == "code"]
    solutions = [size for cell in code for size in _solution_sizes(cell)]
    executed = _executed_cells(solution)
    listing = [cell for cell in executed if PRINTS_CODE.search(cell.source)]
    return Sitting(
        words=sum(len(cell.source.split()) for cell in prose),
        lines=sum(
            _count_lines(cell.source) for cell in code if not cell.folded and cell not in questions
        )
        - sum(solutions),
        listed=sum(_count_lines(_printed_text(cell)) for cell in listing),
        printed=sum(_count_lines(_printed_text(cell)) for cell in executed if cell not in listing),
        drawn=sum(_draws(cell) for cell in executed),
        todos=len(solutions),
        written=sum(size if size > SHORT_SOLUTION else size / 2 for size in solutions),
        checks=sum(bool(lesson_marks.CHECK.search(cell.source)) for cell in code),
        runs=sum(bool(RUN.search(cell.source)) for cell in code),
        explorables=sum(bool(EXPLORABLE.search(cell.source)) for cell in code),
        seconds=lab.seconds,
        characters=len("\n".join(lab.lines)),
    )


def _without_optional(cells: list[Cell]) -> list[Cell]:
    """The cells, with everything in optional sections removed from their sources."""
    kept, optional = [], False
    for cell in cells:
        if cell.kind == "markdown":
            lines = []
            for line in cell.source.splitlines():
                if line.startswith("## "):
                    optional = line.startswith(OPTIONAL)
                if not optional:
                    lines.append(line)
            kept.append(replace(cell, source="\n".join(lines)))
        else:
            kept.append(replace(cell, source="") if optional else cell)
    return kept


def _executed_cells(solution: Path) -> list[nbformat.NotebookNode]:
    """The code cells of the solved notebook outside optional sections, with their outputs."""
    cells = nbformat.read(solution, nbformat.NO_CONVERT).cells
    kept = _without_optional([Cell(cell.cell_type, cell.source, 0) for cell in cells])
    return [
        cell for cell, old in zip(cells, kept, strict=True) if old.kind == "code" and old.source
    ]


def _printed_text(cell: nbformat.NotebookNode) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


def _draws(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell draws a table or picture, and is not a run, an explorable or a check."""
    if any(other.search(cell.source) for other in (RUN, EXPLORABLE, lesson_marks.CHECK)):
        return False
    shown = [output.get("data", {}) for output in cell.outputs]
    return any(PICTURES & data.keys() or "<table" in data.get("text/html", "") for data in shown)


def _count_lines(source: str) -> int:
    return sum(bool(line.strip()) for line in source.splitlines())


def _solution_sizes(cell: Cell) -> list[int]:
    """The number of lines of each solution in a cell."""
    lines = cell.source.splitlines()
    solutions, _ = find_solutions(lines)
    return [_count_lines("\n".join(lines[one.begin + 1 : one.end])) for one in solutions]
