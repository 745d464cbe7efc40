"""Lessons become notebooks: labs/ with the exercises open, solutions/ solved and executed.

The same lesson makes the same bytes outside the outputs, so that a test can tell whether what is
committed is current.
"""

import itertools
import re
import shutil
import sysconfig
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat
import zmq
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course.core import KEPT, lesson_marks, write_atomically
from course.lessons.compared import WIDGET, says_the_same
from course.lessons.lesson import Cell, Lesson
from course.lessons.scripts import put_aside

STARTUP_TIMEOUT_S = 180  # for a kernel on a busy machine
CELL_TIMEOUT_S = 300  # as long as nbval gives a cell: what is built can be validated
STARTS = 3  # of a kernel: it dies if another program takes its ports before it opens them
DIED_EARLY = "Kernel died before replying"  # jupyter_client says so by a plain RuntimeError
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "name": "python", "pygments_lexer": "ipython3"},
}
ANSI = re.compile(r"\x1b\[[0-9;]*m")
CODE_IN_PROSE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
BEFORE_PERCENT = re.compile(r"(?<=\d) (?=%(?!\w))")


class Failed(Exception):
    """A solution that does not run: which cell, and why."""


def notebook(lesson: Lesson, *, solved: bool) -> NotebookNode:
    """The lesson as a notebook without outputs; lab and solution have the same cell ids."""
    cells = []
    sources = zip(lesson.cells, lesson.sources(solved=solved), strict=True)
    for number, (cell, source) in enumerate(sources, 1):
        new, shown = nbformat.v4.new_code_cell, source
        if cell.kind == "markdown":
            new, shown = nbformat.v4.new_markdown_cell, _unbroken(source)
        cells.append(new(shown, id=f"cell-{number:02}", metadata=_metadata(cell)))
    return nbformat.v4.new_notebook(cells=cells, metadata=METADATA)


def _unbroken(prose: str) -> str:
    """The prose, in which no line can end between a number and its percent sign."""
    parts = CODE_IN_PROSE.split(prose)  # every second one is code
    parts[::2] = [BEFORE_PERCENT.sub("\N{NO-BREAK SPACE}", part) for part in parts[::2]]
    return "".join(parts)


def _metadata(cell: Cell) -> dict:
    """A cell's options; where its input is hidden, JupyterLab folds it behind one click."""
    return cell.options | ({"jupyter": {"source_hidden": True}} if cell.folded else {})


def text(node: NotebookNode) -> str:
    """A notebook as it is on disk."""
    return nbformat.writes(node, version=4) + "\n"


def write_figures(root: Path, figures: Mapping[str, str]) -> None:
    """Write the SVG of each figure, by its file's name."""
    for name, svg in figures.items():
        write_atomically(root / "images" / name, svg)


def build(root: Path, chosen: list[Lesson], say: Callable[[str], None]) -> list[str]:
    """Write both notebooks of each lesson; returns the failures.

    If a solution fails, the old one stays in place. If all compared outputs are the same as before,
    the old outputs stay, so that a review shows only what changed.
    """
    failures = []
    for number, lesson in enumerate(chosen, 1):
        say(f"{lesson.name}: runs, {number} of {len(chosen)}")
        _write_lab(root, lesson)
        _remove_scripts(root, lesson)
        start = time.monotonic()
        try:
            solved = execute(lesson, root)
        except Failed as failure:
            failures.append(str(failure))
            continue
        path = root / "solutions" / f"{lesson.name}.ipynb"
        say(f"{lesson.name}: built in {time.monotonic() - start:.0f} s")
        if _says_the_same(path, solved):
            rewrite_prose(root, [lesson])
            say(f"  its outputs say the same as before, so they stay; for new ones, remove {path}")
        else:
            write_atomically(path, text(solved))
    return failures


def _write_lab(root: Path, lesson: Lesson) -> None:
    """Write the notebook with the exercises open; one in which somebody has worked is kept."""
    path = root / "labs" / f"{lesson.name}.ipynb"
    if path.exists() and _was_worked_in(path):
        put_aside(root, path)
    write_atomically(path, text(notebook(lesson, solved=False)))


def _was_worked_in(path: Path) -> bool:
    """Whether Jupyter has saved a notebook: it adds to its metadata, and runs leave outputs."""
    try:
        there = nbformat.read(path, 4)
        ran = any(cell.outputs or cell.execution_count for cell in code_cells(there))
        return ran or there.metadata != METADATA
    except (OSError, nbformat.reader.NotJSONError, KeyError, AttributeError):
        return True


def _says_the_same(path: Path, solved: NotebookNode) -> bool:
    """Whether the file on disk is a notebook that says the same as this run."""
    try:
        return says_the_same(nbformat.read(path, 4), solved)
    except (OSError, nbformat.reader.NotJSONError, KeyError, AttributeError):
        return False


def rewrite_prose(root: Path, chosen: list[Lesson]) -> list[str]:
    """Write both notebooks of each lesson again around the outputs that are there; run nothing.

    Returns the lessons whose code is not that of their outputs; these stay as they are.
    """
    failures = []
    for lesson in chosen:
        path = root / "solutions" / f"{lesson.name}.ipynb"
        solved = notebook(lesson, solved=True)
        old = nbformat.read(path, 4) if path.is_file() else nbformat.v4.new_notebook()
        cells, ran = code_cells(solved), code_cells(old)
        reworded = _reworded(cells, ran)
        if reworded is None:
            failures.append(f"{lesson.name}: its code has changed since it was run: build it")
            continue
        for cell, before in zip(cells, ran, strict=True):
            cell.outputs, cell.execution_count = before.outputs, before.execution_count
            _ask_anew(cell, reworded)
        _write_lab(root, lesson)
        write_atomically(path, text(solved))
    return failures


def _reworded(cells: list[NotebookNode], ran: list[NotebookNode]) -> dict[str, str] | None:
    """The new words of each reworded question by its old ones; None if code differs.

    A question is prose, because no answer depends on its words. Both are as an output shows them.
    The comments at the beginning of a cell, which a folded cell shows, are prose as well.
    """
    if len(cells) != len(ran):
        return None
    reworded = {}
    for cell, before in zip(cells, ran, strict=True):
        (line, _, new), (line_before, _, old) = (
            _below_its_comments(version.source).partition("\n") for version in (cell, before)
        )
        if line != line_before or (new != old and not lesson_marks.GUESS.match(line)):
            return None
        if new != old:
            old, new = (lesson_marks.as_html(" ".join(text.split())) for text in (old, new))
            reworded[old] = new
    return reworded


def _below_its_comments(source: str) -> str:
    lines = source.splitlines(keepends=True)
    return "".join(itertools.dropwhile(lambda line: line.startswith("#"), lines))


def _ask_anew(cell: NotebookNode, reworded: Mapping[str, str]) -> None:
    """Put the new words of questions into what a cell shows."""
    for output in cell.outputs:
        shown = output.get("data", {})
        for old, new in reworded.items():
            if "text/html" in shown:
                shown["text/html"] = shown["text/html"].replace(old, new)


def code_cells(node: NotebookNode) -> list[NotebookNode]:
    """The cells of a notebook that run."""
    return [cell for cell in node.cells if cell.cell_type == "code"]


def _remove_scripts(root: Path, lesson: Lesson) -> None:
    """Remove a solution's scripts and what checks kept there, so that it runs as in a new clone.

    Nothing in labs/src is removed, because somebody's answers may lie there.
    """
    for target in lesson.scripts(solved=True):
        (root / "solutions" / target).unlink(missing_ok=True)
    shutil.rmtree(root / "solutions" / "src" / KEPT, ignore_errors=True)


def execute(lesson: Lesson, root: Path) -> NotebookNode:
    """Run the solved notebook in solutions/; Failed says which cell does not do its job."""
    node = notebook(lesson, solved=True)
    _run(node, lesson, root / "solutions")
    for index, cell in enumerate(node.cells):
        if error := check_that_fails(cell):
            raise Failed(f"{_place(lesson, index)}: its solution is not right: {error}")
    node.metadata = nbformat.from_dict(METADATA)  # nbclient adds more
    _leave_pictures_of_widgets(node)
    return _without_this_machine(node, root)


def _run(node: NotebookNode, lesson: Lesson, folder: Path) -> None:
    """Run the cells in order, with `folder` as the working directory, and store their outputs."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    running = [0]
    client = NotebookClient(
        node,
        startup_timeout=STARTUP_TIMEOUT_S,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
        on_cell_execute=lambda cell, cell_index: running.append(cell_index),
    )
    if not _started(client):
        raise Failed(f"solutions/{lesson.name}.ipynb: its kernel died at {STARTS} starts")
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise Failed(f"{_place(lesson, running[-1])} failed: {_reason(error)}") from error


def _started(client: NotebookClient) -> bool:
    """Start the kernel; return False if it died before its first answer each time."""
    for _ in range(STARTS):
        client.create_kernel_manager()
        if zmq.has("curve") and client.km.has_trait("transport_encryption"):
            client.km.transport_encryption = "auto"  # or the kernel warns that it is not encrypted
        client.start_new_kernel()
        try:
            client.start_new_kernel_client()
            return True
        except RuntimeError as error:
            if DIED_EARLY not in str(error):
                raise
    return False


def _place(lesson: Lesson, index: int) -> str:
    """Say where a cell is, in the notebook and in the lesson."""
    line = lesson.cells[index].line
    return f"solutions/{lesson.name}.ipynb: the cell at course/lessons/{lesson.path.name}:{line}"


def check_that_fails(cell: NotebookNode) -> str:
    """The verdict of a `%check` that does not hold; "" for every other cell."""
    if cell.cell_type != "code" or not cell.source.startswith("%check"):
        return ""
    text = "".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs)
    return "" if lesson_marks.ALL_HOLD.search(text) else text or "no verdict"


def _reason(error: Exception) -> str:
    """The last few lines of what the kernel said."""
    if isinstance(error, CellTimeoutError):
        return f"it took more than {CELL_TIMEOUT_S} s"
    if isinstance(error, DeadKernelError):
        return "the kernel died"
    lines = [line for line in ANSI.sub("", error.traceback).splitlines() if line.strip()]
    return "\n  ".join([f"{error.ename}: {error.evalue}", *lines[-6:-1]])


def _leave_pictures_of_widgets(node: NotebookNode) -> None:
    """Keep of each widget what a reader sees without a kernel: its picture or its text."""
    for cell in code_cells(node):
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET, None)


def _without_this_machine(node: NotebookNode, root: Path) -> NotebookNode:
    """The notebook without this machine's paths to the course and to Python."""
    python = Path(sysconfig.get_path("stdlib"))
    content = text(node).replace(f"{root}/", "./").replace(f"{python}/", f"…/{python.name}/")
    return nbformat.reads(content, as_version=4)
