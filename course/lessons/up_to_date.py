"""Check whether the committed notebooks and figures are what the lessons and the code make."""

import copy
from collections.abc import Collection, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course.lessons.lesson import Lesson
from course.lessons.notebooks import code_cells, failing_verdict, notebook, text

SCREENSHOT = "lab_03.png"  # of JupyterLab, in the README: the only picture no code draws


def stale(root: Path, chosen: list[Lesson]) -> list[str]:
    """List the notebooks that differ from what these lessons make, each with the reason."""
    faults = []
    for lesson in chosen:
        lab, solution = (f"{folder}/{lesson.name}.ipynb" for folder in ("labs", "solutions"))
        if _content(root / lab) != text(notebook(lesson, solved=False)):
            faults.append(f"{lab} is not what its lesson makes")
        if why := _solution_fault(_content(root / solution), lesson):
            faults.append(f"{solution} {why}")
    return faults


def stale_beside(root: Path, known: Collection[str], figures: Mapping[str, str]) -> list[str]:
    """List outdated figures, and files in the built folders that neither lessons nor code make."""
    faults = [
        f"images/{name} is not what the code draws"
        for name, svg in figures.items()
        if _content(root / "images" / name) != svg
    ]
    expected = {f"{name}.ipynb" for name in known} | set(figures) | {SCREENSHOT}
    for folder, pattern in (("labs", "*.ipynb"), ("solutions", "*.ipynb"), ("images", "[!.]*")):
        present = sorted(path.name for path in (root / folder).glob(pattern))
        reason = "is made by no lesson and no figure: remove it"
        faults += [f"{folder}/{name} {reason}" for name in present if name not in expected]
    return faults


def _content(path: Path) -> str | None:
    """A file's text with its line ends unchanged; None if there is no such file."""
    return path.read_bytes().decode("utf-8", errors="replace") if path.is_file() else None


def _solution_fault(content: str | None, lesson: Lesson) -> str | None:
    """Why a solution on disk is not a complete run of its lesson; None if it is one."""
    try:
        node = nbformat.reads(content or "", as_version=4)
        nbformat.validate(node)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, KeyError, AttributeError):
        return "is not there" if content is None else "is not a notebook"
    if text(_without_outputs(node)) != text(notebook(lesson, solved=True)):
        return "is not what its lesson makes"
    code = code_cells(node)
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        return "was not run from the first cell to the last"
    if any(_has_unexpected_error(cell) for cell in code):
        return "has a cell that failed"
    if any(failing_verdict(cell) for cell in code):
        return "has a check that does not hold"
    return None


def _without_outputs(node: NotebookNode) -> NotebookNode:
    """A copy of a notebook without outputs and execution counts."""
    node = copy.deepcopy(node)
    for cell in node.cells:
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = None, []
    return node


def _has_unexpected_error(cell: NotebookNode) -> bool:
    """Whether a cell ended in an unexpected error."""
    if "raises-exception" in cell.metadata.get("tags", []):
        return False
    return any(output.output_type == "error" for output in cell.outputs)
