"""Read one lesson: its MyST Markdown as cells, and the TODOs that replace its solutions.

A lesson is the only source of two notebooks, and of the scripts that they write. This module only
reads it: `rules` finds its faults, and `notebooks` writes the files.
"""

import functools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from course.core import CourseError, imports, lesson_marks

# Both are slow and not needed: jsonschema would build a grammar with the first, and jupytext would
# prepare for a server with the second.
with imports.without("rfc3987_syntax", "jupyter_server"):
    from jupytext.myst import MystMetadataParsingError, myst_to_notebook
    from nbformat import ValidationError

BEGIN_LINE = re.compile(rf"(?P<indent>\s*){lesson_marks.BEGIN}(?: hint:(?P<hint>.*))?\s*")
END_LINE = re.compile(rf"\s*{lesson_marks.END}\s*")
# A line that someone probably meant as a marker.
MARKER_LIKE = re.compile(r"\b(BEGIN|END)[ _-]*SOLUTION\b", re.IGNORECASE)
NESTED = "BEGIN SOLUTION inside a solution: end the first one before it"
NO_HINT = "a solution without a hint: write `### BEGIN SOLUTION hint: ...`"
NO_BEGIN = "END SOLUTION without a BEGIN SOLUTION before it in this cell"
NO_END = "BEGIN SOLUTION without an END SOLUTION after it in this cell"
NO_MARKER = (
    "not a marker: write `### BEGIN SOLUTION hint: ...` or `### END SOLUTION`, and nothing else"
)
# The labs of the core; the other labs continue from there.
CORE = ("00", "01", "02", "03", "03b", "05", "06", "07", "07b")
IGNORED, FOLDED = "nbval-ignore-output", "hide-input"  # tags: the output varies; input is hidden
START = "start"  # the only lesson that is not a lab: learners begin here, and come back


@dataclass(frozen=True)
class Solution:
    """One solution: the lines of its two markers in the source (from 0), its indent and hint."""

    begin: int
    end: int
    indent: str
    hint: str


@dataclass(frozen=True)
class Cell:
    """One cell of the lesson, solutions included; ``line`` is its first line (from 1)."""

    kind: str
    source: str
    line: int
    options: dict = field(default_factory=dict)

    @property
    def target(self) -> str | None:
        """The file that a ``%%writefile`` cell writes; None for every other cell."""
        match = lesson_marks.WRITES.match(self.source) if self.kind == "code" else None
        return match[1].strip() if match else None

    @property
    def tags(self) -> list[str]:
        """The tags, which control what Jupyter and nbval do with the cell."""
        return self.options.get("tags", [])

    @property
    def folded(self) -> bool:
        """Whether JupyterLab shows only its first line."""
        return FOLDED in self.tags


@dataclass(frozen=True)
class Lesson:
    """A parsed lesson file; its notebooks have the same name.

    `header` is the section ``course`` of its YAML header. The first cell shows values from it, as
    in ``about {{ minutes }} minutes``.
    """

    path: Path
    lines: list[str]
    cells: list[Cell]
    header: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``03_distributed_data_parallel`` for that lesson's file."""
        return self.path.stem

    @property
    def number(self) -> str:
        """``04b`` for lab 04b; ``start`` for the start notebook, which is not a lab."""
        return self.name.partition("_")[0]

    @property
    def title(self) -> str:
        """The heading that the lesson begins with."""
        return self.cells[0].source.partition("\n")[0].removeprefix("# ")

    @property
    def minutes(self) -> int:
        """The minutes that a newcomer needs; 0 if the header does not have them."""
        return self.header.get("minutes", 0)

    @property
    def seconds(self) -> int:
        """The seconds that the solved cells run; 0 if the header does not have them."""
        return self.header.get("seconds", 0)

    @property
    def needs(self) -> list[str]:
        """The numbers of the labs that it builds on."""
        return self.header.get("needs", [])

    @property
    def code(self) -> list[Cell]:
        """The code cells, in order."""
        return [cell for cell in self.cells if cell.kind == "code"]

    @property
    def exercises(self) -> list[str]:
        """The names of the exercises that its cells check, in order."""
        matches = (lesson_marks.CHECK.match(cell.source) for cell in self.code)
        return [match[1] for match in matches if match]

    @property
    def guesses(self) -> dict[str, Cell]:
        """The cells that ask for a guess, by the question's name, in order."""
        questions = ((lesson_marks.GUESS.match(cell.source), cell) for cell in self.code)
        return {match[1]: cell for match, cell in questions if match}

    def scripts(self, *, solved: bool) -> dict[str, str]:
        """The text of every script of the lesson by its target, ``src/NAME.py``."""
        sources = zip(self.cells, self.sources(solved=solved), strict=True)
        return {cell.target: script(source) for cell, source in sources if cell.target}

    def sources(self, *, solved: bool) -> list[str]:
        """The sources of all cells, solved or with a numbered TODO for each solution."""
        if solved:
            return [cell.source for cell in self.cells]
        code = iter(with_todos(cell.source for cell in self.code))
        return [next(code) if cell.kind == "code" else cell.source for cell in self.cells]


def with_todos(sources: Iterable[str]) -> list[str]:
    """Replace each solution by a TODO; the numbers run on through all the sources."""
    blanks, first = [], 1
    for source in sources:
        solutions, _ = find_solutions(source.splitlines())
        blanks.append(replace_solutions(source, solutions, first))
        first += len(solutions)
    return blanks


def read(path: Path) -> Lesson:
    """Read a lesson; raises `CourseError`, with the line, if its header or options are invalid."""
    return _parse(path, path.read_text(encoding="utf-8"))


@functools.cache  # by text as well; parsing takes a tenth of a second, and has many callers
def _parse(path: Path, text: str) -> Lesson:
    lines = text.splitlines()
    try:
        notebook = myst_to_notebook(text, add_source_map=True)
    except (MystMetadataParsingError, ValidationError) as error:
        line, reason = _unreadable(error, lines)
        raise CourseError(f"course/lessons/{path.name}:{line}: {reason}") from error
    header = notebook.metadata.get("course", {})
    if not isinstance(header, dict):
        reason = "what is below `course:` in the header has names, such as `minutes: 60`"
        raise CourseError(f"course/lessons/{path.name}:1: {reason}")
    cells = []
    for cell, start in zip(notebook.cells, notebook.metadata["source_map"], strict=True):
        line = _first_line(lines, cell.source, start)
        source = cell.source if cells else _with_header_values(cell.source, header)
        cells.append(Cell(cell.cell_type, source, line, dict(cell.metadata)))
    return Lesson(path, lines, cells, header)


def _with_header_values(source: str, header: dict) -> str:
    """Replace each ``{{ name }}`` in the first cell by its value in the header."""
    for name, value in header.items():
        source = source.replace(f"{{{{ {name} }}}}", str(value))
    return source


def _unreadable(error: Exception, lines: list[str]) -> tuple[int, str]:
    """The line (from 1) at which the header or a cell's options cannot be read, and why."""
    if isinstance(error, ValidationError):
        line = next((number for number, line in enumerate(lines, 1) if _bad_tags(line)), 1)
        return line, f"tags are a list of words, `:tags: [...]`: {error.message}"
    where = re.search(r"line (\d+)", str(error))
    return int(where[1]) if where else 1, " ".join(str(error).split())


def _bad_tags(line: str) -> bool:
    if not line.startswith(":tags:"):
        return False
    tags = yaml.safe_load(line[1:])["tags"]
    return not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags)


def _first_line(lines: list[str], source: str, start: int) -> int:
    """The line (from 1) where the source begins; options and blank lines may precede it.

    ``start`` (from 0) is the earliest line that it can be.
    """
    original = source.splitlines()
    for place in range(start, len(lines) - len(original) + 1):
        if lines[place : place + len(original)] == original:
            return place + 1
    return start + 1


def find_solutions(lines: list[str]) -> tuple[list[Solution], list[tuple[int, str]]]:
    """Find the solutions in a cell's lines; also return faults, as (line from 0, reason)."""
    solutions, faults, begun = [], [], None
    for number, line in enumerate(lines):
        if match := BEGIN_LINE.fullmatch(line):
            hint = (match["hint"] or "").strip()
            if begun:
                faults.append((number, NESTED))
            else:
                begun = number, match["indent"], hint
                if not hint:
                    faults.append((number, NO_HINT))
        elif END_LINE.fullmatch(line):
            if begun:
                begin, indent, hint = begun
                solutions.append(Solution(begin, number, indent, hint))
            else:
                faults.append((number, NO_BEGIN))
            begun = None
        elif MARKER_LIKE.search(line):
            faults.append((number, NO_MARKER))
    if begun:
        faults.append((begun[0], NO_END))
    return solutions, faults


def replace_solutions(source: str, solutions: list[Solution], first: int) -> str:
    """Replace each solution by a TODO, numbered from ``first``."""
    lines = source.splitlines()
    for number, solution in reversed(list(enumerate(solutions, first))):
        text = f"TODO {number}: {solution.hint}"
        raised = f"raise NotImplementedError({json.dumps(text, ensure_ascii=False)})"
        todo = [f"{solution.indent}# {text}", f"{solution.indent}{raised}"]
        lines[solution.begin : solution.end + 1] = todo
    return "\n".join(lines)


def script(source: str) -> str:
    """The text that a ``%%writefile`` cell writes to its file."""
    return source.partition("\n")[2] + "\n"


def lessons(root: Path) -> list[Lesson]:
    """Every lesson of the course below ``root``: the start notebook, and the labs in order."""
    folder = root / "course" / "lessons"
    paths = (*folder.glob(f"{START}.md"), *sorted(folder.glob(lesson_marks.LABS)))
    return [read(path) for path in paths]


def labs(root: Path) -> list[Lesson]:
    """The labs of the course below ``root``, in order: all lessons except the start notebook."""
    return [lesson for lesson in lessons(root) if lesson.name != START]
