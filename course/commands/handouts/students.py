"""Write the students' edition: the course without solutions and without the tests of its checks.

Its lessons are blank: in place of each solution they have the TODO that the lab shows.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from course.core import KEPT, RUNS, write_atomically
from course.lessons import Lesson, notebooks, with_todos

FILES = (
    "LICENSE",
    "NOTICE",
    "Makefile",
    "constraints.txt",
    "environment.yml",
    "pyproject.toml",
    ".gitignore",
)
FOLDERS = ("course", "images", "labs")
SITE = ("commands", "web")  # it shows a solution, and only a clone can build it
GENERATED = (
    KEPT,
    "__pycache__",
    ".ipynb_checkpoints",
    "*.egg-info",
    str(RUNS),
    "runs",
    "traces",
    "*.py[co]",
)
# The parts of README and INSTALL about things that this edition lacks: links to solved labs,
# sections and lines.
SOLVED_LINK = re.compile(r" \[solved\]\(solutions/\w+\.ipynb\) \|$", re.MULTILINE)
SECTION = re.compile(
    r"^## On (GPUs|a machine that someone lends you)\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
TEXTS = ("README.md", "INSTALL.md")
ABSENT = (
    "solutions/",
    "make test",
    "make report",
    "make prose",
    "make site",
    "| `site` |",
    "git+ADDRESS",
    ".devcontainer",
    "TEACHING.md",
    "CONTRIBUTING.md",
)
ABSENT_LINE = re.compile(rf"^.*({'|'.join(map(re.escape, ABSENT))}).*\n", re.MULTILINE)


def write(root: Path, chosen: Sequence[Lesson], out: Path) -> None:
    """Write the edition into the new folder `out`; `make lab` works there."""
    for name in FOLDERS:
        shutil.copytree(root / name, out / name, ignore=shutil.ignore_patterns(*GENERATED))
    shutil.rmtree(out.joinpath("course", *SITE))
    for path in (out / "labs" / "src").glob("*.py"):
        path.unlink()  # the teacher's own
    for name in FILES:
        shutil.copyfile(root / name, out / name)
    for name in TEXTS:
        text = SOLVED_LINK.sub("", (root / name).read_text(encoding="utf-8"))
        write_atomically(out / name, ABSENT_LINE.sub("", SECTION.sub("", text)))
    for lesson in chosen:
        (blank,) = with_todos(["\n".join(lesson.lines)])
        write_atomically(out / "course" / "lessons" / lesson.path.name, blank + "\n")
        lab = notebooks.text(notebooks.notebook(lesson, solved=False))
        write_atomically(out / "labs" / f"{lesson.name}.ipynb", lab)
