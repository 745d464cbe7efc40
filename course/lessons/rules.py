"""The rules for a lesson. Each fault has its line and reason; all are reported together.

A lesson that breaks a rule is not built. `finished` has further rules, for a finished lab.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from IPython.core.inputtransformer2 import TransformerManager
from markdown_it import MarkdownIt

from course.core import CourseError, lesson_marks, todo
from course.lessons import hints
from course.lessons.lesson import (
    FOLDED,
    IGNORED,
    MARKER_LIKE,
    Cell,
    Lesson,
    find_solutions,
    lessons,
    script,
)

TAGS = {IGNORED, "raises-exception", FOLDED}
MAGICS = {"torchrun", "accelerate", "python", "timeout", "check", "writefile"}  # the course's own
MAGICS |= {"why", "right", "fit", "hint", "solution", "reset", "changes", "guess"}
MAGICS |= {"load_ext", "env", "matplotlib"}
TARGET = re.compile(r"src/[a-z_][a-z0-9_]*\.py")
CELL_FENCE = re.compile(r"\s*(`{3,}|~{3,}|:{3,})\{(code-cell|raw-cell)\}", re.MULTILINE)
HTML_LINK = re.compile(r"\b(?:src|href)\s*=\s*[\"']([^\"']+)")
INSIDE = "this cell stands inside another block: close the fence before it, and do not indent it"
SCRIPT_PLACE = "a script is written to src/NAME.py (lower case, digits and _)"
MARKDOWN = MarkdownIt("commonmark").enable("table")

BUILT = ("labs", "solutions")
Fault = tuple[int, str]  # the line in the lesson (from 1), and the reason


@dataclass(frozen=True)
class LessonContext:
    """What a lesson is judged with: `every` lesson in order, and what a lesson may refer to.

    `made` are the files that the build makes, and `checks` the names that `%check` knows.
    """

    root: Path
    every: Sequence[Lesson]
    made: Set[Path] = frozenset()
    checks: Set[str] = frozenset()

    def earlier(self, lesson: Lesson) -> Sequence[Lesson]:
        """The lessons before this one."""
        return self.every[: self.every.index(lesson)]

    def has_link_target(self, link: str) -> bool:
        """Whether a link relative to ``labs/`` leads to a file."""
        target = (self.root / "labs" / link).resolve()
        return target in self.made or target.exists()


Rule = Callable[[Lesson, LessonContext], Iterator[Fault]]


def select(
    root: Path, names: Collection[str], figures: Collection[str], checks: Set[str]
) -> list[Lesson]:
    """Read the lessons below `root` with these names (all if `names` is empty); apply the rules.

    `figures` are the files that the build draws, `checks` the names that `%check` knows. Raises
    `CourseError` for an unknown name, or with a list of all faults of those lessons.
    """
    every = lessons(root)
    known = [lesson.name for lesson in every]
    for name in names:
        if name not in known:
            listed = ", ".join(known) or "none yet"
            raise CourseError(f"No lesson is called {name}; the lessons are: {listed}.")
    chosen = [lesson for lesson in every if not names or lesson.name in names]
    made = _made(root, known, figures)
    context = LessonContext(root, every, made, checks)
    if wrong := [line for lesson in chosen for line in faults(lesson, RULES, context)]:
        raise CourseError("\n".join(wrong))
    return chosen


def _made(root: Path, names: Collection[str], figures: Collection[str]) -> set[Path]:
    """The files that the build makes."""
    notebooks = [root / folder / f"{name}.ipynb" for folder in BUILT for name in names]
    return {path.resolve() for path in (*notebooks, *(root / "images" / name for name in figures))}


def faults(lesson: Lesson, rules: Iterable[Rule], context: LessonContext) -> list[str]:
    """The faults of a lesson in order, each as ``course/lessons/NAME.md:LINE: reason``."""
    found = {fault for rule in rules for fault in rule(lesson, context)}
    return [f"course/lessons/{lesson.path.name}:{line}: {why}" for line, why in sorted(found)]


def _title(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    first = lesson.cells[0] if lesson.cells else None
    if not first or first.kind != "markdown" or not re.match(r"# \S", first.source):
        yield first.line if first else 1, "a lesson begins with its title: `# Title`"


def _cells(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    for cell in lesson.cells:
        if cell.kind == "raw":
            yield cell.line, "a raw cell: lessons are made of prose and code cells"
        if cell.kind == "code" and not cell.source.strip():
            yield cell.line, "an empty code cell"
        for match in CELL_FENCE.finditer(cell.source):
            line = cell.line + cell.source.count("\n", 0, match.end())
            yield line, INSIDE


def _options(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    for cell in lesson.cells:
        allowed = {"tags"} if cell.kind == "code" else set()
        for option in sorted(set(cell.options) - allowed):
            takes = "code cells take `:tags: [...]`, prose takes none"
            yield cell.line, f"unknown cell option {option!r}: {takes}"
        for tag in cell.tags:
            if tag not in TAGS:
                yield cell.line, f"unknown tag {tag!r}: known are {_listed(TAGS)}"


def _markers(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    in_code = set()
    for cell in lesson.code:
        lines = cell.source.splitlines()
        in_code |= set(range(cell.line, cell.line + len(lines)))
        _, faults_in_cell = find_solutions(lines)
        yield from ((cell.line + number, why) for number, why in faults_in_cell)
    for number, line in enumerate(lesson.lines, 1):
        if number not in in_code and MARKER_LIKE.search(line):
            yield number, "a SOLUTION marker outside a code cell"


def _scripts(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    for cell in lesson.code:
        if cell.target is None:
            continue
        if not TARGET.fullmatch(cell.target):
            yield cell.line, f"{SCRIPT_PLACE}, not to {cell.target!r}"
            continue
        tree = _parsed(script(cell.source))
        docstring = ast.get_docstring(tree) if isinstance(tree, ast.Module) else cell.target
        if not (docstring or "").startswith(cell.target):
            begins = f'`"""{cell.target}: ...`'
            yield cell.line + 1, f"the docstring of a script begins with its path: {begins}"


def _clashes(lesson: Lesson, context: LessonContext) -> Iterator[Fault]:
    earlier = context.earlier(lesson)
    owner = {cell.target: f"lesson {other.name}" for other in earlier for cell in other.cells}
    for cell in lesson.cells:
        if cell.target is None:
            continue
        if cell.target in owner:
            taken = f"{cell.target} is written by {owner[cell.target]} already"
            yield cell.line, f"{taken}: give this script its own name"
        else:
            owner[cell.target] = f"the cell at line {cell.line}"
    owners = {name: other.name for other in earlier for name in other.guesses}
    for name in lesson.guesses.keys() & owners:
        why = f"lesson {owners[name]} asks for the guess {name} already: give this one its own name"
        yield lesson.guesses[name].line, why


def _python(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    for cell, blanked in zip(lesson.cells, lesson.sources(solved=False), strict=True):
        if cell.kind != "code":
            continue
        tree = _parsed(runnable(cell.source))
        if isinstance(tree, SyntaxError):
            yield cell.line + (tree.lineno or 1) - 1, f"not valid Python: {tree.msg}"
        elif isinstance(blank := _parsed(runnable(blanked)), SyntaxError):
            solutions, _ = find_solutions(cell.source.splitlines())
            why = f"not valid Python once its solution is a TODO: {blank.msg}"
            yield cell.line + solutions[0].begin, why


def _magics(lesson: Lesson, context: LessonContext) -> Iterator[Fault]:
    for cell in lesson.code:
        tree = _parsed(runnable(cell.source))
        if isinstance(tree, SyntaxError):
            continue  # another rule reports it
        for name, argument in _magic_calls(tree):
            line = cell.line + _line_of(rf"%{name}\b\s*{re.escape(argument)}", cell.source)
            if name not in MAGICS:
                yield line, f"unknown magic %{name}: known are {_listed(MAGICS)}"
            elif name == "check" and argument not in context.checks:
                known = _listed(context.checks) or "none yet"
                yield line, f"no check is called {argument!r}: known are {known}"


def _links(lesson: Lesson, context: LessonContext) -> Iterator[Fault]:
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
            elif not context.has_link_target(path):
                yield line, f"{path} does not exist (links are relative to labs/)"


def _hints(lesson: Lesson, context: LessonContext) -> Iterator[Fault]:
    scripts, fuller_hints = lesson.scripts(solved=False), hints.read(context.root)
    for cell in lesson.code:
        name = Path(cell.target or "").stem
        if name not in context.checks:
            continue
        todos = len(todo.numbers(scripts[cell.target]))
        fuller = len(fuller_hints.get(name, []))
        if todos != fuller:
            counts = f"{name} has {todos} TODOs and {fuller} fuller hints"
            yield cell.line, f"{counts}: write one for each in course/lessons/{hints.FILE}"


def _guesses(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    """Cells that show a guess are not compared, because guesses differ between learners."""
    for name, cell in lesson.guesses.items():
        later = [other for other in lesson.code if other.line > cell.line]
        answers = [other for other in later if name in lesson_marks.ANSWER.findall(other.source)]
        if not answers:
            yield cell.line, f"nothing answers the guess: show it by `it_was({name!r}, ...)`"
        for code_cell in (cell, *answers):
            if IGNORED not in code_cell.tags:
                yield code_cell.line, f"a cell that shows a guess has the tag {IGNORED}"
    names = set()
    for cell in lesson.code:
        names |= set(lesson_marks.GUESS.findall(cell.source))
        for name in set(lesson_marks.ANSWER.findall(cell.source)) - names:
            yield cell.line, f"no cell above asks for the guess {name!r}"


RULES = (
    *(_title, _cells, _options, _markers, _scripts, _clashes),
    *(_python, _magics, _links, _hints, _guesses),
)


def runnable(source: str) -> str:
    """The cell as Python: magics become calls, and a ``%%writefile`` line becomes blank."""
    if source.startswith("%%writefile"):
        return "\n" + source.partition("\n")[2]
    return TransformerManager().transform_cell(source)


def _parsed(source: str) -> ast.Module | SyntaxError:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        return error


def _magic_calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each magic's name and first argument; a `%` in the text may be an operator."""
    for node in ast.walk(tree):
        method = getattr(node.func, "attr", None) if isinstance(node, ast.Call) else None
        if method in ("run_line_magic", "run_cell_magic"):
            name, line = (argument.value for argument in node.args[:2])
            yield name, (line.split() or [""])[0]


def _line_of(pattern: str, source: str) -> int:
    """The first line (from 0) that has the pattern, 0 if none has it."""
    lines = enumerate(source.splitlines())
    return next((number for number, line in lines if re.search(pattern, line)), 0)


def _targets(cell: Cell) -> Iterator[tuple[int, str]]:
    """Yield each link and figure of a prose cell, with its line in the lesson."""
    for token in MARKDOWN.parse(cell.source):
        line = cell.line + token.map[0] if token.map else cell.line
        if token.type == "html_block":
            yield from ((line, link) for link in HTML_LINK.findall(token.content))
        for part in token.children or []:
            if part.type in ("softbreak", "hardbreak"):
                line += 1
            if link := part.attrGet("href") or part.attrGet("src"):
                yield line, str(link)
            elif part.type == "html_inline":
                yield from ((line, link) for link in HTML_LINK.findall(part.content))


def _listed(names: Set[str]) -> str:
    return ", ".join(sorted(names))
