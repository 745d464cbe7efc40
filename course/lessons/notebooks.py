"""Build two notebooks from each lesson: labs/ with open exercises, solutions/ solved and executed.

Apart from the outputs, the same lesson always makes the same bytes, so a test can tell whether the
committed notebooks are current.
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
from course.lessons.compared import WIDGET, have_same_outputs
from course.lessons.lesson import Cell, Lesson
from course.lessons.scripts import move_to_kept

STARTUP_TIMEOUT_S = 180  # for a kernel on a busy machine
CELL_TIMEOUT_S = 300  # nbval has the same limit, so a notebook that builds also validates
START_ATTEMPTS = 3  # a kernel dies if another program takes its ports before it opens them
DIED_EARLY = "Kernel died before replying"  # in the plain RuntimeError of jupyter_client
# Raised by reads of a file that is not a notebook, and of its cells.
NO_NOTEBOOK = (OSError, nbformat.reader.NotJSONError, KeyError, AttributeError)
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "name": "python", "pygments_lexer": "ipython3"},
}
ANSI = re.compile(r"\x1b\[[0-9;]*m")
CODE_IN_PROSE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
BEFORE_PERCENT = re.compile(r"(?<=\d) (?=%(?!\w))")


class Failed(Exception):
    """A solution failed; the message names the cell and the reason."""


def notebook(lesson: Lesson, *, solved: bool) -> NotebookNode:
    """The lesson as a notebook without outputs; lab and solution have the same cell ids."""
    cells = []
    sources = zip(lesson.cells, lesson.sources(solved=solved), strict=True)
    for number, (cell, source) in enumerate(sources, 1):
        new, shown = nbformat.v4.new_code_cell, source
        if cell.kind == "markdown":
            new, shown = nbformat.v4.new_markdown_cell, _join_percent_signs(source)
        cells.append(new(shown, id=f"cell-{number:02}", metadata=_metadata(cell)))
    return nbformat.v4.new_notebook(cells=cells, metadata=METADATA)


def _join_percent_signs(prose: str) -> str:
    """Join numbers in the prose to their percent signs, so that no line ends between them."""
    parts = CODE_IN_PROSE.split(prose)  # every second one is code
    parts[::2] = [BEFORE_PERCENT.sub("\N{NO-BREAK SPACE}", part) for part in parts[::2]]
    return "".join(parts)


def _metadata(cell: Cell) -> dict:
    """A cell's options; JupyterLab folds a hidden input behind one click."""
    return cell.options | ({"jupyter": {"source_hidden": True}} if cell.folded else {})


def text(node: NotebookNode) -> str:
    """The text of a notebook's file."""
    return nbformat.writes(node, version=4) + "\n"


def write_figures(root: Path, figures: Mapping[str, str]) -> None:
    """Write the figures, SVG by file name, to images/."""
    for name, svg in figures.items():
        write_atomically(root / "images" / name, svg)


def build(root: Path, chosen: list[Lesson], say: Callable[[str], None]) -> list[str]:
    """Write both notebooks of each lesson, and return the failures.

    If a solution fails, the old notebook stays. If all compared outputs are the same as before, the
    old outputs stay, so that a review shows only what changed. `say` is called with each message.
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
        if _has_same_outputs(path, solved):
            rewrite_prose(root, [lesson])
            say(f"  its outputs say the same as before, so they stay; for new ones, remove {path}")
        else:
            write_atomically(path, text(solved))
    return failures


def _write_lab(root: Path, lesson: Lesson) -> None:
    """Write the notebook with open exercises; move one that somebody has worked in aside."""
    path = root / "labs" / f"{lesson.name}.ipynb"
    if path.exists() and _was_worked_in(path):
        move_to_kept(root, path)
    write_atomically(path, text(notebook(lesson, solved=False)))


def _was_worked_in(path: Path) -> bool:
    """Whether Jupyter has saved the notebook, which adds metadata, or cells have been run."""
    try:
        saved = nbformat.read(path, 4)
        ran = any(cell.outputs or cell.execution_count for cell in code_cells(saved))
        return ran or saved.metadata != METADATA
    except NO_NOTEBOOK:
        return True


def _has_same_outputs(path: Path, solved: NotebookNode) -> bool:
    """Whether the notebook on disk has the same compared outputs as this run."""
    try:
        return have_same_outputs(nbformat.read(path, 4), solved)
    except NO_NOTEBOOK:
        return False


def rewrite_prose(root: Path, chosen: list[Lesson]) -> list[str]:
    """Write both notebooks of each lesson with the stored outputs; run nothing.

    Returns a message for each lesson whose code has changed since it was run; its notebooks stay
    as they are.
    """
    failures = []
    for lesson in chosen:
        path = root / "solutions" / f"{lesson.name}.ipynb"
        solved = notebook(lesson, solved=True)
        old = nbformat.read(path, 4) if path.is_file() else nbformat.v4.new_notebook()
        cells, ran = code_cells(solved), code_cells(old)
        reworded = _reworded_questions(cells, ran)
        if reworded is None:
            failures.append(f"{lesson.name}: its code has changed since it was run: build it")
            continue
        for cell, before in zip(cells, ran, strict=True):
            cell.outputs, cell.execution_count = before.outputs, before.execution_count
            _replace_questions(cell, reworded)
        _write_lab(root, lesson)
        write_atomically(path, text(solved))
    return failures


def _reworded_questions(
    cells: list[NotebookNode], ran: list[NotebookNode]
) -> dict[str, str] | None:
    """Map the old text of each reworded question to the new one; None if any code differs.

    The words of a question count as prose, because no answer depends on them. Both texts are HTML,
    as in an output. The comments at the top of a cell, which a folded cell shows, are prose as
    well.
    """
    if len(cells) != len(ran):
        return None
    reworded = {}
    for cell, before in zip(cells, ran, strict=True):
        (line, _, new), (line_before, _, old) = (
            _without_leading_comments(version.source).partition("\n") for version in (cell, before)
        )
        if line != line_before or (new != old and not lesson_marks.GUESS.match(line)):
            return None
        if new != old:
            old, new = (lesson_marks.as_html(" ".join(text.split())) for text in (old, new))
            reworded[old] = new
    return reworded


def _without_leading_comments(source: str) -> str:
    lines = source.splitlines(keepends=True)
    return "".join(itertools.dropwhile(lambda line: line.startswith("#"), lines))


def _replace_questions(cell: NotebookNode, reworded: Mapping[str, str]) -> None:
    """Replace the text of reworded questions in a cell's HTML outputs."""
    for output in cell.outputs:
        shown = output.get("data", {})
        for old, new in reworded.items():
            if "text/html" in shown:
                shown["text/html"] = shown["text/html"].replace(old, new)


def code_cells(node: NotebookNode) -> list[NotebookNode]:
    """The code cells of a notebook."""
    return [cell for cell in node.cells if cell.cell_type == "code"]


def _remove_scripts(root: Path, lesson: Lesson) -> None:
    """Remove a solution's scripts and what checks kept there, so that it runs as in a new clone.

    Nothing in labs/src is removed, because it may have somebody's answers.
    """
    for target in lesson.scripts(solved=True):
        (root / "solutions" / target).unlink(missing_ok=True)
    shutil.rmtree(root / "solutions" / "src" / KEPT, ignore_errors=True)


def execute(lesson: Lesson, root: Path) -> NotebookNode:
    """Run the solved notebook in solutions/; raises `Failed` if a cell or a check fails."""
    node = notebook(lesson, solved=True)
    _run(node, lesson, root / "solutions")
    for index, cell in enumerate(node.cells):
        if error := failing_verdict(cell):
            raise Failed(f"{_place(lesson, index)}: its solution is not right: {error}")
    node.metadata = nbformat.from_dict(METADATA)  # nbclient adds more
    _remove_widget_views(node)
    return _without_local_paths(node, root)


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
    if not _start_kernel(client):
        raise Failed(f"solutions/{lesson.name}.ipynb: its kernel died at {START_ATTEMPTS} starts")
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise Failed(f"{_place(lesson, running[-1])} failed: {_reason(error)}") from error


def _start_kernel(client: NotebookClient) -> bool:
    """Start the kernel; return False if it died before its first reply at every attempt."""
    for _ in range(START_ATTEMPTS):
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
    """The place of a cell, in the notebook and in the lesson."""
    line = lesson.cells[index].line
    return f"solutions/{lesson.name}.ipynb: the cell at course/lessons/{lesson.path.name}:{line}"


def failing_verdict(cell: NotebookNode) -> str:
    """The verdict of a failing `%check`; "" for every other cell."""
    if cell.cell_type != "code" or not cell.source.startswith("%check"):
        return ""
    text = "".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs)
    return "" if lesson_marks.ALL_PASSED.search(text) else text or "no verdict"


def _reason(error: Exception) -> str:
    """Why a notebook stopped; after an exception, with the last lines of its traceback."""
    if isinstance(error, CellTimeoutError):
        return f"it took more than {CELL_TIMEOUT_S} s"
    if isinstance(error, DeadKernelError):
        return "the kernel died"
    lines = [line for line in ANSI.sub("", error.traceback).splitlines() if line.strip()]
    return "\n  ".join([f"{error.ename}: {error.evalue}", *lines[-6:-1]])


def _remove_widget_views(node: NotebookNode) -> None:
    """Remove the live view of each widget; its picture or text, which needs no kernel, stays."""
    for cell in code_cells(node):
        for output in cell.outputs:
            output.get("data", {}).pop(WIDGET, None)


def _without_local_paths(node: NotebookNode, root: Path) -> NotebookNode:
    """The notebook without this machine's paths to the course and to Python."""
    python = Path(sysconfig.get_path("stdlib"))
    content = text(node).replace(f"{root}/", "./").replace(f"{python}/", f"…/{python.name}/")
    return nbformat.reads(content, as_version=4)
