"""The rules for a finished lab, which `build --check` and the tests apply.

A lab that is still being written may break them, so a build applies only those of `rules`. Each
fault has a line, a reason and a remedy.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from course.lessons import sitting
from course.lessons.lesson import START, Cell, Lesson, find_solutions, script
from course.lessons.rules import Fault, LessonContext, faults

MOST_COLUMNS = 120
LEAST_WORDS_PER_LINE = 4  # of prose, for each line of code
MOST_IDLE_LINES = 150  # between two things to do
LEAST_MINUTES = 30
HEADER_FIELDS = {"minutes", "seconds", "needs"}
TOP = re.compile(
    r"> - \*\*After this lab\*\* .+\n(?:>.*\n)*"
    r"> - \*\*You need\*\* .+\n(?:>.*\n)*> - \*\*Time:\*\* .+"
)
NEEDED = re.compile(r"^> - \*\*You need\*\* ([^;.]*)", re.MULTILINE)
NUMBER = re.compile(r"\b\d\d[a-z]?\b")
MAY_BE_LONG = ("|", "![", "```", "<")  # beginnings of lines that may be longer
LAUNCH = re.compile(  # a launch in a cell or on practice nodes
    r"(?:%(?:why |right )?(?:torchrun|accelerate launch)\b|\.run\(f\").*?(src/\w+\.py)"
)
STARTS_PROCESSES = re.compile(r"num_workers=[1-9]|mp\.spawn\(")
GLOSSARY = re.compile(r"\]\(\.\./labs/glossary\.md(?:#([^)]*))?\)")
TERM = re.compile(r"^### (.+)$", re.MULTILINE)
PLACEHOLDER = "TO WRITE"  # begins each sentence of a new lab that its author replaces


def unfinished(root: Path, every: Sequence[Lesson], chosen: Collection[Lesson]) -> list[str]:
    """What the chosen lessons lack, each as ``course/lessons/NAME.md:LINE: reason``."""
    context, lines = LessonContext(root, every), []
    for lesson in chosen:
        applied = OF_EVERY_LESSON + OF_A_LAB * (lesson.name != START)
        lines += faults(lesson, applied, context)
    return lines


def anchor(term: str) -> str:
    """The anchor that GitHub gives to a heading: ``data-parallel`` for "Data parallel"."""
    return re.sub(r"[^\w -]", "", term.lower()).replace(" ", "-")


def _glossary(lesson: Lesson, context: LessonContext) -> Iterator[Fault]:
    links = [
        (number, link)
        for number, line in enumerate(lesson.lines, 1)
        for link in GLOSSARY.findall(line)
    ]
    if not links:
        yield 1, "no link to labs/glossary.md: link each word that a newcomer may not know"
    page = context.root / "labs" / "glossary.md"
    terms = set(map(anchor, TERM.findall(page.read_text(encoding="utf-8"))))
    for number, link in links:
        if link and link not in terms:
            yield number, f"labs/glossary.md has no entry #{link}: write one, or mend the link"


def _next(lesson: Lesson, context: LessonContext) -> Iterator[Fault]:
    """The last cell ends with a link to the next lab."""
    if later := context.every[len(context.earlier(lesson)) + 1 :]:
        link = f"Next: [{later[0].title}]({later[0].name}.ipynb)"
        if not lesson.cells[-1].source.endswith(f"\n\n{link}"):
            yield lesson.cells[-1].line, f"the last cell ends with a paragraph of its own: `{link}`"


def _written(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    for number, line in enumerate(lesson.lines, 1):
        if PLACEHOLDER in line:
            yield number, f"a placeholder of `make exercise`: replace {PLACEHOLDER} by your text"


def _top(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    """The first cell says what the reader can do afterwards, what it needs, and how long it is."""
    if not TOP.search(lesson.cells[0].source):
        yield (
            lesson.cells[0].line,
            "the first cell has three points in `>`: **After this lab**, **You need**, **Time:**",
        )


def _header(lesson: Lesson, context: LessonContext) -> Iterator[Fault]:
    """The header has plausible minutes, seconds and required labs, and the lab has an exercise.

    The map of the labs is drawn from the header.
    """
    earlier = {lab.number for lab in context.earlier(lesson) if lab.name != START}
    if set(lesson.header) != HEADER_FIELDS:
        yield 1, "the header has minutes, seconds and needs below `course:`, and nothing else there"
        return
    if not LEAST_MINUTES <= lesson.minutes <= sitting.MOST_MINUTES:
        most = sitting.MOST_MINUTES
        yield 1, f"a lab takes {LEAST_MINUTES} to {most} minutes, not {lesson.minutes}"
    if lesson.seconds <= 0:
        yield 1, "`seconds` is how long the solved cells run, so it is above 0"
    for number in sorted(set(lesson.needs) - earlier):
        yield 1, f"it needs lab {number}, which is none of the labs before it"
    if earlier and not lesson.needs:
        yield 1, "every lab but the first needs another: name those it builds on in `needs`"
    if not lesson.exercises:
        yield 1, "a lab has an exercise: a script with a TODO, and `%check NAME`"


def _first_cell(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    text, line = lesson.cells[0].source, lesson.cells[0].line
    needed = NEEDED.search(text)
    named = NUMBER.findall(needed[1]) if needed else []
    if named != lesson.needs:
        yield line, f"**You need** names the labs {named}, and the header {lesson.needs}"
    for field, words in (("minutes", "minutes"), ("seconds", "s ")):
        if f"about {lesson.header.get(field)} {words}" not in text:
            yield (
                line,
                f"**Time:** says `about {{{{ {field} }}}} {words.strip()}`, as the header has it",
            )


def _sitting(lesson: Lesson, context: LessonContext) -> Iterator[Fault]:
    solution = context.root / "solutions" / f"{lesson.name}.ipynb"
    if not solution.is_file():  # what its cells print is not known before it is built
        return
    counted = sitting.sitting(lesson, solution)
    if counted.too_many_words:
        too_many = f"{counted.minutes} minutes of {sitting.MOST_MINUTES}"
        yield 1, f"too long for one sitting, {too_many}: cut about {counted.too_many_words} words"
    elif counted.minutes > lesson.minutes:
        yield 1, f"it takes {counted.minutes} minutes, and its header says {lesson.minutes}"
    if counted.todos > sitting.MOST_TODOS:
        yield 1, f"{counted.todos} TODOs, of {sitting.MOST_TODOS} at most"
    if (more := counted.characters - sitting.MOST_CHARACTERS) > 0:
        yield 1, f"the file has {more} characters more than {sitting.MOST_CHARACTERS}"


def _wrapped(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    for number, line in enumerate(lesson.lines, 1):
        shown = re.sub(r"{{ \w+ }}", "00", line)
        prose = not shown.lstrip("> ").startswith(MAY_BE_LONG) and " " in shown[:MOST_COLUMNS]
        if len(shown) > MOST_COLUMNS and prose:
            yield number, f"{len(shown)} columns: wrap prose and code at {MOST_COLUMNS}"


def _explained(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    code = "\n".join(cell.source for cell in lesson.code)
    lines = sum(bool(line.strip()) for line in code.splitlines())
    words = sum(len(cell.source.split()) for cell in lesson.cells if cell.kind == "markdown")
    if words < LEAST_WORDS_PER_LINE * lines:
        counts = f"{words} words of prose for {lines} lines of code"
        yield 1, f"{counts}: {LEAST_WORDS_PER_LINE} words a line at least"


def _something_to_do(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    to_do = [1, *(cell.line for cell in lesson.code if _is_hands_on(cell))]
    for before, line in pairwise(to_do):
        if line - before > MOST_IDLE_LINES:
            gap = f"the {line - before} lines before this cell have nothing to run or to write"
            yield line, f"{gap}: {MOST_IDLE_LINES} at most"


def _is_hands_on(cell: Cell) -> bool:
    """Whether the learner runs or writes something in a cell, and does not only read a script."""
    return cell.target is None or bool(find_solutions(cell.source.splitlines())[0])


def _runs(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    """A lab writes a script of its own and runs it on ranks."""
    launched = {path for cell in lesson.code for path in LAUNCH.findall(cell.source)}
    if not launched & {cell.target for cell in lesson.code}:
        yield 1, "a lab writes a script and runs it on ranks from a cell: `%torchrun … src/NAME.py`"


def _folded(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    """JupyterLab shows the first line of a folded cell."""
    for cell in lesson.cells:
        if cell.folded and not cell.source.startswith(("%%writefile", "# ")):
            yield cell.line, "a folded cell begins with a comment that says what it shows"


def _importable(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    """Processes that are not forked import the script again: on macOS, and from Python 3.14 on."""
    for cell, text in _script_cells(lesson):
        if STARTS_PROCESSES.search(text):
            actions = [node for node in ast.parse(text).body if isinstance(node, ast.Expr)][1:]
            if actions:
                yield (
                    cell.line + actions[0].lineno,
                    "the processes that it starts import this script, so nothing may act here: "
                    'put it under `if __name__ == "__main__":`',
                )


def _group_outlives_models(lesson: Lesson, _: LessonContext) -> Iterator[Fault]:
    """A DDP model that is freed after its group can hang over Gloo (pytorch/pytorch issue 56297).

    The model then destroys the group, which joins the group's threads while it holds the GIL. If a
    thread is just then freeing a tensor of the last collective, it waits for the GIL.
    """
    for cell, text in _script_cells(lesson):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                source = ast.unparse(node)
                if "dist.destroy_process_group()" in source and "model" in source:
                    yield (
                        cell.line + node.lineno,
                        "this function destroys the group while it still has a model: "
                        "destroy the group in the function that calls this one",
                    )


def _script_cells(lesson: Lesson) -> Iterator[tuple[Cell, str]]:
    """Yield each cell that writes a script, with the text of the solved script."""
    for cell in lesson.cells:
        if cell.target:
            yield cell, script(cell.source)


OF_EVERY_LESSON = (_glossary, _next)
OF_A_LAB = (
    _written,
    _top,
    _header,
    _first_cell,
    _sitting,
    _wrapped,
    _explained,
    _something_to_do,
    _runs,
    _folded,
    _importable,
    _group_outlives_models,
)
