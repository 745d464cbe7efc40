"""A learner's clone of a small course, and the repository that publishes new versions of it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import nbformat

from course.commands import update
from course.lessons import notebooks
from course.lessons.lesson import lessons
from support.lesson_samples import NAME, rewrite

LAB = f"labs/{NAME}.ipynb"
WRITER = "%%writefile src/adding.py"
ANSWER = f"{WRITER}\ndef add(a, b):\n    return a + b\n"
SOMEONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull} | {
    f"GIT_{who}_{what}": "someone@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path) -> None:
    """Build the labs from the lessons in a folder, and commit everything."""
    for lesson in lessons(folder):
        (folder / "labs").mkdir(exist_ok=True)
        text = notebooks.text(notebooks.notebook(lesson, solved=False))
        (folder / "labs" / f"{lesson.name}.ipynb").write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--message", "A version")


def release(origin: Path, old: str = "How does a sum grow?", new: str = "How?") -> None:
    """Commit a new version, in which the lab has other words."""
    rewrite(origin / "course" / "lessons" / f"{NAME}.md", old, new)
    commit(origin)


def edit(clone: Path, change: Callable[[list], None], path: str = LAB) -> str:
    """Change the cells of a learner's notebook; return its new text."""
    node = nbformat.read(clone / path, 4)
    change(node.cells)
    nbformat.write(node, clone / path)
    return (clone / path).read_text()


def solve(cells: list) -> None:
    """Run the notebook, write the exercise, and add a note after it."""
    place = next(n for n, cell in enumerate(cells) if cell.source.startswith(WRITER))
    cells[place].source = ANSWER
    cells[place].execution_count = 3
    cells[place + 1].outputs = [nbformat.v4.new_output("stream", text="a sum of 2\n")]
    cells.insert(place + 1, nbformat.v4.new_markdown_cell("My note"))


def sources(clone: Path, path: str = LAB) -> list[str]:
    return [cell.source for cell in nbformat.read(clone / path, 4).cells]


def backups(clone: Path, path: str = LAB) -> list[str]:
    """The texts of the notebook's backups."""
    return [backup.read_text() for backup in clone.glob(f"{update.BACKUPS}/*/{path}")]
