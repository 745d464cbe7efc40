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


@cache
def scripts(lab: str) -> dict[str, str]:
    """The solved scripts of the lab ``NN_name`` by file name."""
    solved = lesson.read(LESSONS / f"{lab}.md").scripts(solved=True)
    return {Path(target).name: text for target, text in solved.items()}


def write(lab: str, folder: Path) -> None:
    """Write the solved scripts of a lab into a folder."""
    for name, text in scripts(lab).items():
        (folder / name).write_text(text)


@contextmanager
def importable(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *labs: str
) -> Iterator[Callable[[str], ModuleType]]:
    """Write the solved scripts of labs into a folder, and import them from there meanwhile."""
    for lab in labs:
        write(lab, folder)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module
    for script in folder.glob("*.py"):
        sys.modules.pop(script.stem, None)
