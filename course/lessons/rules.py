"""What a lesson must keep to: each rule names line and reason, and all of a lesson's faults are told at once."""

import ast
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from IPython.core.inputtransformer2 import TransformerManager
from markdown_it import MarkdownIt

from course.lessons.lesson import MARKER_LIKE, Cell, Lesson, scan

TAGS = {"nbval-ignore-output", "raises-exception"}
MAGICS = {
    "load_ext",
    "torchrun",
    "accelerate",
    "python",
    "timeout",
    "check",
    "writefile",
    "env",
    "matplotlib",
}
TARGET = re.compile(r"src/[a-z_][a-z0-9_]*\.py")
CELL_FENCE = re.compile(r"\s*(`{3,}|~{3,}|:{3,})\{(code-cell|raw-cell)\}", re.MULTILINE)
HTML_LINK = re.compile(r"\b(?:src|href)\s*=\s*[\"']([^\"']+)")
MARKDOWN = MarkdownIt("commonmark").enable("table")

Fault = tuple[int, str]  # the line in the lesson (from 1), and the reason


@dataclass(frozen=True)
class Around:
    """What a lesson may refer to: files by path, made by the build or not, and checks by name."""

    root: Path
    made: Set[Path]
    checks: Set[str]

    def has(self, link: str) -> bool:
        """Whether a link relative to ``labs/`` leads somewhere."""
        target = (self.root / "labs" / link).resolve()
        return target in self.made or target.exists()


def problems(lessons: list[Lesson], around: Around) -> list[tuple[Lesson, str]]:
    """Every fault of the lessons, as ``course/lessons/NAME.md:LINE: reason``, in order of lesson and line."""
    found = []
    for number, lesson in enumerate(lessons):
        faults = {fault for rule in RULES for fault in rule(lesson, around)}
        faults |= set(_clashes(lesson, lessons[:number]))
        found += [
            (lesson, f"course/lessons/{lesson.path.name}:{line}: {why}")
            for line, why in sorted(faults)
        ]
    return found


def _title(lesson: Lesson, _: Around) -> Iterator[Fault]:
    first = lesson.cells[0] if lesson.cells else None
    if not first or first.kind != "markdown" or not re.match(r"# \S", first.source):
        yield first.line if first else 1, "a lesson begins with its title: `# Title`"


def _cells(lesson: Lesson, _: Around) -> Iterator[Fault]:
    for cell in lesson.cells:
        if cell.kind == "raw":
            yield cell.line, "a raw cell: lessons are made of prose and code cells"
        if cell.kind == "code" and not cell.source.strip():
            yield cell.line, "an empty code cell"
        for match in CELL_FENCE.finditer(cell.source):
            line = cell.line + cell.source.count("\n", 0, match.end())
            yield (
                line,
                "this cell stands inside another block: close the fence before it, and do not indent it",
            )


def _options(lesson: Lesson, _: Around) -> Iterator[Fault]:
    for cell in lesson.cells:
        allowed = {"tags"} if cell.kind == "code" else set()
        for option in sorted(set(cell.options) - allowed):
            yield (
                cell.line,
                f"unknown cell option {option!r}: code cells take `:tags: [...]`, prose takes none",
            )
        for tag in cell.options.get("tags", []):
            if tag not in TAGS:
                yield cell.line, f"unknown tag {tag!r}: known are {_listed(TAGS)}"


def _markers(lesson: Lesson, _: Around) -> Iterator[Fault]:
    in_code = set()
    for cell in _code(lesson):
        lines = cell.source.splitlines()
        in_code |= set(range(cell.line, cell.line + len(lines)))
        yield from ((cell.line + number, why) for number, why in scan(lines)[1])
    for number, line in enumerate(lesson.lines, 1):
        if number not in in_code and MARKER_LIKE.search(line):
            yield number, "a SOLUTION marker outside a code cell"


def _scripts(lesson: Lesson, _: Around) -> Iterator[Fault]:
    for cell in _code(lesson):
        if cell.target is None:
            continue
        if not TARGET.fullmatch(cell.target):
            yield (
                cell.line,
                f"a script is written to src/NAME.py (lower case, digits and _), not to {cell.target!r}",
            )
            continue
        tree = _parsed(cell.source.partition("\n")[2])
        docstring = ast.get_docstring(tree) if isinstance(tree, ast.Module) else cell.target
        if not (docstring or "").startswith(cell.target):
            yield (
                cell.line + 1,
                f'the docstring of a script begins with its path: `"""{cell.target}: ...`',
            )


def _clashes(lesson: Lesson, earlier: list[Lesson]) -> Iterator[Fault]:
    owner = {
        cell.target: f"lesson {other.name}"
        for other in earlier
        for cell in other.cells
        if cell.target
    }
    for cell in lesson.cells:
        if cell.target in owner:
            yield (
                cell.line,
                f"{cell.target} is written by {owner[cell.target]} already: give this script its own name",
            )
        elif cell.target:
            owner[cell.target] = f"the cell at line {cell.line}"


def _python(lesson: Lesson, _: Around) -> Iterator[Fault]:
    for cell, blanked in zip(lesson.cells, lesson.sources(solved=False), strict=True):
        if cell.kind != "code":
            continue
        tree = _parsed(_runnable(cell.source))
        if isinstance(tree, SyntaxError):
            yield cell.line + (tree.lineno or 1) - 1, f"not valid Python: {tree.msg}"
        elif isinstance(blank := _parsed(_runnable(blanked)), SyntaxError):
            block = scan(cell.source.splitlines())[0][0]
            yield (
                cell.line + block.begin,
                f"not valid Python once its solution is a TODO: {blank.msg}",
            )


def _magics(lesson: Lesson, around: Around) -> Iterator[Fault]:
    for cell in _code(lesson):
        tree = _parsed(_runnable(cell.source))
        if isinstance(tree, SyntaxError):
            continue  # told by another rule
        for name, argument in _magic_calls(tree):
            line = cell.line + _line_of(rf"%{name}\b\s*{re.escape(argument)}", cell.source)
            if name not in MAGICS:
                yield line, f"unknown magic %{name}: known are {_listed(MAGICS)}"
            elif name == "check" and argument not in around.checks:
                yield (
                    line,
                    f"no check is called {argument!r}: known are {_listed(around.checks) or 'none yet'}",
                )


def _links(lesson: Lesson, around: Around) -> Iterator[Fault]:
    scripts = {cell.target for cell in lesson.cells}
    for cell in lesson.cells:
        if cell.kind != "markdown":
            continue
        for line, link in _targets(cell):
            parts = urlsplit(link)
            path = unquote(parts.path)
            if parts.scheme or parts.netloc or not path or path in scripts:
                continue
            if path.startswith("/"):
                yield line, f"{path} is a path of one machine: links are relative to labs/"
            elif not around.has(path):
                yield line, f"{path} does not exist (links are relative to labs/)"


RULES = (_title, _cells, _options, _markers, _scripts, _python, _magics, _links)


def _code(lesson: Lesson) -> Iterator[Cell]:
    return (cell for cell in lesson.cells if cell.kind == "code")


def _runnable(source: str) -> str:
    """The cell as Python: a script without its first line (its line numbers kept), magics as calls."""
    if source.startswith("%%writefile"):
        return "\n" + source.partition("\n")[2]
    return TransformerManager().transform_cell(source)


def _parsed(source: str) -> ast.Module | SyntaxError:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        return error


def _magic_calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and first argument of each magic; read from the tree, for a `%` may also be an operator or text."""
    for node in ast.walk(tree):
        method = getattr(node.func, "attr", None) if isinstance(node, ast.Call) else None
        if method in ("run_line_magic", "run_cell_magic"):
            name, line = (argument.value for argument in node.args[:2])
            yield name, (line.split() or [""])[0]


def _line_of(pattern: str, source: str) -> int:
    return next(
        (number for number, line in enumerate(source.splitlines()) if re.search(pattern, line)), 0
    )


def _targets(cell: Cell) -> Iterator[tuple[int, str]]:
    """Each link and figure of a prose cell with its line in the lesson."""
    for token in MARKDOWN.parse(cell.source):
        line = cell.line + token.map[0] if token.map else cell.line
        if token.type == "html_block":
            yield from ((line, link) for link in HTML_LINK.findall(token.content))
        for part in token.children or []:
            line += part.type in ("softbreak", "hardbreak")
            if link := part.attrGet("href") or part.attrGet("src"):
                yield line, str(link)
            elif part.type == "html_inline":
                yield from ((line, link) for link in HTML_LINK.findall(part.content))


def _listed(names: Set[str]) -> str:
    return ", ".join(sorted(names))
