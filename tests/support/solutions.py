"""The scripts of a lab with all exercises solved, as its lesson has them."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from course.lessons import lesson

LESSONS = Path(lesson.__file__).parent
HOLD = """
import time
with open("{record}", "a") as file:
    file.write("x\\n")
while open("{record}").read().count("x") >= {after}:
    time.sleep(0.05)
"""


@cache
def scripts(lab: str) -> dict[str, str]:
    """The solved scripts of the lab ``NN_name`` by file name."""
    solved = lesson.read(LESSONS / f"{lab}.md").scripts(solved=True)
    return {Path(target).name: text for target, text in solved.items()}


def write(lab: str, folder: Path) -> None:
    """Write the solved scripts of a lab into a folder."""
    for name, text in scripts(lab).items():
        (folder / name).write_text(text)


def hold(script: Path, after: int) -> None:
    """Make ranks that import the script wait forever once it has been imported `after` times.

    So its checks are still running when they are stopped, however late that happens.
    """
    record = script.with_suffix(".imported")
    script.write_text(script.read_text() + HOLD.format(record=record, after=after))


def imported(script: Path) -> int:
    """How often ranks have imported a script that `hold` has changed."""
    record = script.with_suffix(".imported")
    return record.read_text().count("\n") if record.is_file() else 0


@contextmanager
def importable(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *labs: str
) -> Iterator[Callable[[str], ModuleType]]:
    """Write the solved scripts of labs into a folder; yield a function that imports one."""
    for lab in labs:
        write(lab, folder)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module
    for script in folder.glob("*.py"):
        sys.modules.pop(script.stem, None)
