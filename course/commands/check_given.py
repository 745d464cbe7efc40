"""Add the scripts that a lab hands out complete, where a learner's folder lacks them."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from course.exercises import exercise, exercises


def missing(src: Path, names: Iterable[str]) -> dict[str, str]:
    """The given scripts that these exercises need and `src` lacks: the texts by name.

    An exercise that is not in `src` itself needs none.
    """
    return {
        given: text
        for name in names
        if (src / f"{name}.py").is_file()
        for given, text in exercise(name).given.items()
        if not (src / f"{given}.py").exists()
    }


def add_missing(src: Path, names: Iterable[str]) -> None:
    """Write the given scripts that these exercises need and `src` lacks into `src`."""
    for name, text in missing(src, names).items():
        (src / f"{name}.py").write_text(text, encoding="utf-8")


@contextmanager
def complete(src: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield `src`, or a temporary copy of its scripts to which the missing given ones are added.

    Without `names`, the given scripts of all exercises count.
    """
    names = list(names) or list(exercises())
    if not missing(src, names):
        yield src
        return
    with tempfile.TemporaryDirectory(prefix="course-check-") as folder:
        copy = Path(folder)
        for path in src.glob("*.py"):
            if path.is_file():
                shutil.copyfile(path, copy / path.name)
        add_missing(copy, names)
        yield copy
