"""Write the files for other graders: assignments for nbgrader, and scripts for Gradescope.

The metadata of nbgrader's cells:
https://nbgrader.readthedocs.io/en/stable/contributor_guide/metadata.html
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from nbformat import NotebookNode

from course.core import lesson_marks, write_atomically
from course.lessons import Lesson, notebooks

HERE = Path(__file__).with_name("files")
# A check as a cell that nbgrader can grade: its value is the earned share of the point.
GRADED = "checked = %check {}\ndisplay(checked)\nchecked.share"
IMAGE = re.compile(r"\]\(images/([\w.-]+)")
OTHER_LAB = re.compile(r"\(((\d\d\w?)_\w+\.ipynb)")
GLOSSARY = "../labs/glossary.md"


def write_nbgrader(root: Path, chosen: Sequence[Lesson], out: Path) -> None:
    """Write a course folder for nbgrader: `source/lab_NN/` for each lesson with exercises."""
    for lesson in chosen:
        node = assignment(lesson)
        if not any("nbgrader" in cell.metadata for cell in node.cells):
            continue
        folder = out / "source" / f"lab_{lesson.number}"
        write_atomically(folder / f"{lesson.name}.ipynb", notebooks.text(node))
        shutil.copyfile(root / "labs" / "glossary.md", folder / "glossary.md")
        for name in {name for cell in node.cells for name in IMAGE.findall(cell.source)}:
            (folder / "images").mkdir(exist_ok=True)
            shutil.copyfile(root / "images" / name, folder / "images" / name)
    _copy("nbgrader_config.py", out)


def assignment(lesson: Lesson) -> NotebookNode:
    """A solved notebook without outputs, with its exercises and checks marked for nbgrader."""
    node = notebooks.notebook(lesson, solved=True)
    for number, cell in enumerate(node.cells):
        if cell.cell_type == "markdown":
            cell.source = _links(cell.source)
        elif lesson_marks.BEGIN in cell.source:
            cell.metadata.nbgrader = _metadata(f"exercise-{number}", solution=True)
        elif check := lesson_marks.CHECK.fullmatch(cell.source):
            cell.source = GRADED.format(check[1])
            cell.metadata.nbgrader = _metadata(f"check-{check[1]}", grade=True, locked=True) | {
                "points": 1
            }
    return node


def _metadata(grade_id: str, **flags: bool) -> dict:
    kinds = {"grade": False, "locked": False, "solution": False, "task": False}
    return kinds | flags | {"grade_id": grade_id, "schema_version": 3}


def _links(text: str) -> str:
    """Change links for a layout in which each lab has its own folder, with its images in it."""
    text = text.replace("../images/", "images/").replace(GLOSSARY, "glossary.md")
    return OTHER_LAB.sub(r"(../lab_\2/\1", text)


def write_gradescope(students: Path, out: Path) -> None:
    """Write the files that make up an autograder for Gradescope, including the package."""
    _copy("setup.sh", out)
    _copy("run_autograder", out)
    # The students' edition without its notebooks, for pip to install.
    ignored = shutil.ignore_patterns("labs", "images")
    shutil.copytree(students, out / "course", ignore=ignored)


def _copy(name: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / name, out / name)
