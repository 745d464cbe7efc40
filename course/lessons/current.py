"""Are the committed notebooks and figures what the lessons and the code make?"""

from collections.abc import Collection, Mapping
from pathlib import Path

import nbformat

from course.lessons.lesson import Lesson
from course.lessons.notebooks import check_that_fails, notebook, text

SCREENSHOT = "lab_03.png"  # the one picture that no code of ours draws: the README's, of JupyterLab


def stale(root: Path, wanted: list[Lesson]) -> list[str]:
    """What is on disk of these lessons' notebooks, and is not what they make: a line for each, with the reason."""
    found = []
    for lesson in wanted:
        lab, solution = (f"{folder}/{lesson.name}.ipynb" for folder in ("labs", "solutions"))
        if _content(root / lab) != text(notebook(lesson, solved=False)):
            found.append(f"{lab} is not what its lesson makes")
        if why := _solution_fault(_content(root / solution), lesson):
            found.append(f"{solution} {why}")
    return found


def stale_beside(root: Path, known: Collection[str], figures: Mapping[str, str]) -> list[str]:
    """Figures that are not what the code draws, and files in the built folders that nothing makes."""
    found = [
        f"images/{name} is not what the code draws"
        for name, svg in figures.items()
        if _content(root / "images" / name) != svg
    ]
    made = {f"{name}.ipynb" for name in known} | set(figures) | {SCREENSHOT}
    for folder, pattern in (("labs", "*.ipynb"), ("solutions", "*.ipynb"), ("images", "[!.]*")):
        extra = sorted(path.name for path in (root / folder).glob(pattern) if path.name not in made)
        found += [
            f"{folder}/{name} is made by no lesson and no figure: remove it" for name in extra
        ]
    return found


def _content(path: Path) -> str | None:
    """A file's text, line ends untouched; None where there is no such file."""
    return path.read_bytes().decode("utf-8", errors="replace") if path.is_file() else None


def _solution_fault(content: str | None, lesson: Lesson) -> str | None:
    """Why a solution on disk is not an executed run of its lesson."""
    try:
        node = nbformat.reads(content or "", as_version=4)
        nbformat.validate(node)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, KeyError, AttributeError):
        return "is not there" if content is None else "is no notebook"
    code = [cell for cell in node.cells if cell.cell_type == "code"]
    counts = [cell.execution_count for cell in code]
    errors = [
        output
        for cell in code
        if "raises-exception" not in cell.metadata.get("tags", [])
        for output in cell.outputs
        if output.output_type == "error"
    ]
    wrong = any(check_that_fails(cell) for cell in code)
    for cell in code:
        cell.execution_count, cell.outputs = None, []
    node.metadata.pop("widgets", None)
    if text(node) != text(notebook(lesson, solved=True)):
        return "is not what its lesson makes"
    if counts != list(range(1, len(code) + 1)):
        return "was not run from the first cell to the last"
    if errors:
        return "has a cell that failed"
    return "has a check that does not hold" if wrong else None
