"""One lesson: its MyST Markdown as cells, and what a learner sees where its solutions stand.

A lesson is the only source of two notebooks, and of the scripts that they write. Here is nothing but its meaning:
``course.lesson_rules`` says what is wrong with a lesson, ``course.build`` writes the files.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbformat import ValidationError

from course.core import CourseError

BEGIN = re.compile(r"(?P<indent>\s*)### BEGIN SOLUTION(?: hint:(?P<hint>.*))?\s*")
END = re.compile(r"\s*### END SOLUTION\s*")
MARKER_LIKE = re.compile(
    r"\b(BEGIN|END)[ _-]*SOLUTION\b", re.IGNORECASE
)  # what someone meant as a marker
SCRIPT_CELL = re.compile(r"%%writefile\b[ \t]*(.*)")


@dataclass(frozen=True)
class Block:
    """One solution: the lines of its two markers within the source (from 0), its indent and its hint."""

    begin: int
    end: int
    indent: str
    hint: str


@dataclass(frozen=True)
class Cell:
    """One cell as the lesson has it, solutions included; ``line`` is its first line in the lesson (from 1)."""

    kind: str
    source: str
    line: int
    options: dict = field(default_factory=dict)

    @property
    def target(self) -> str | None:
        """What a ``%%writefile`` cell writes; None for every other cell."""
        match = SCRIPT_CELL.match(self.source) if self.kind == "code" else None
        return match[1].strip() if match else None


@dataclass(frozen=True)
class Lesson:
    """A lesson file, read: its name is that of its notebooks."""

    path: Path
    lines: list[str]
    cells: list[Cell]

    @property
    def name(self) -> str:
        """``03_distributed_data_parallel`` for that lesson's file."""
        return self.path.stem

    def scripts(self, *, solved: bool) -> dict[str, str]:
        """The text of every script of the lesson by its target, ``src/NAME.py``."""
        sources = zip(self.cells, self.sources(solved=solved), strict=True)
        return {cell.target: body(source) for cell, source in sources if cell.target}

    def sources(self, *, solved: bool) -> list[str]:
        """The cells' sources, in order: as they stand, or with a numbered TODO for each solution."""
        if solved:
            return [cell.source for cell in self.cells]
        sources, todo = [], 1
        for cell in self.cells:
            blocks, _ = scan(cell.source.splitlines()) if cell.kind == "code" else ([], [])
            sources.append(blank(cell.source, blocks, todo))
            todo += len(blocks)
        return sources


def read(path: Path) -> Lesson:
    """Read a lesson; a header or cell options that cannot be read are a CourseError with the line."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    try:
        notebook = myst_to_notebook(text, add_source_map=True)
    except MystMetadataParsingError as error:
        where = re.search(r"line (\d+)", str(error))
        reason = " ".join(str(error).split())
        raise CourseError(
            f"course/lessons/{path.name}:{where[1] if where else 1}: {reason}"
        ) from error
    except ValidationError as error:
        line = next((number for number, line in enumerate(lines, 1) if _bad_tags(line)), 1)
        reason = f"tags are a list of words, `:tags: [...]`: {error.message}"
        raise CourseError(f"course/lessons/{path.name}:{line}: {reason}") from error
    starts = notebook.metadata["source_map"]
    cells = [
        Cell(
            cell.cell_type, cell.source, _first_line(lines, cell.source, start), dict(cell.metadata)
        )
        for cell, start in zip(notebook.cells, starts, strict=True)
    ]
    return Lesson(path, lines, cells)


def _bad_tags(line: str) -> bool:
    if not line.startswith(":tags:"):
        return False
    tags = yaml.safe_load(line[1:])["tags"]
    return not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags)


def _first_line(lines: list[str], source: str, start: int) -> int:
    """The line (from 1) where the source begins, at or after ``start``: options and blank lines may precede it."""
    wanted = source.splitlines()
    places = range(start, len(lines) - len(wanted) + 1)
    return (
        next((place for place in places if lines[place : place + len(wanted)] == wanted), start) + 1
    )


def scan(lines: list[str]) -> tuple[list[Block], list[tuple[int, str]]]:
    """Find the solutions in a cell's lines: whole blocks, and what is wrong as (line from 0, reason)."""
    blocks, wrong, opened = [], [], None
    for number, line in enumerate(lines):
        if match := BEGIN.fullmatch(line):
            if opened:
                wrong.append(
                    (number, "BEGIN SOLUTION inside a solution: end the first one before it")
                )
            elif not (match["hint"] or "").strip():
                wrong.append(
                    (number, "a solution without a hint: write `### BEGIN SOLUTION hint: ...`")
                )
            opened = opened or (number, match)
        elif END.fullmatch(line):
            if opened:
                begin, mark = opened
                blocks.append(Block(begin, number, mark["indent"], (mark["hint"] or "").strip()))
            else:
                wrong.append(
                    (number, "END SOLUTION without a BEGIN SOLUTION before it in this cell")
                )
            opened = None
        elif MARKER_LIKE.search(line):
            wrong.append(
                (
                    number,
                    "not a marker: write `### BEGIN SOLUTION hint: ...` or `### END SOLUTION`, no more",
                )
            )
    if opened:
        wrong.append((opened[0], "BEGIN SOLUTION without an END SOLUTION after it in this cell"))
    return blocks, wrong


def blank(source: str, blocks: list[Block], first: int) -> str:
    """Put a TODO in the place of each block, numbered from ``first``."""
    lines = source.splitlines()
    for number, block in reversed(list(enumerate(blocks, first))):
        text = f"TODO {number}: {block.hint}"
        raised = f"raise NotImplementedError({json.dumps(text, ensure_ascii=False)})"
        lines[block.begin : block.end + 1] = [f"{block.indent}# {text}", f"{block.indent}{raised}"]
    return "\n".join(lines)


def body(source: str) -> str:
    """What a ``%%writefile`` cell writes into its file."""
    return source.partition("\n")[2] + "\n"


def lessons(root: Path) -> list[Lesson]:
    """Every lesson of the course below ``root``, in order."""
    return [read(path) for path in sorted((root / "course" / "lessons").glob("[0-9][0-9]_*.md"))]
