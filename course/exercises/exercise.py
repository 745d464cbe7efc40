"""One exercise: its lab, its script as handed out and as solved, its TODOs and their hints."""

import difflib
import functools
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course.core import ROOT, CourseError, lesson_marks, todo

if TYPE_CHECKING:
    from course.lessons import Lesson


@dataclass(frozen=True)
class Exercise:
    """An exercise of the course; `path` is the lesson that asks for it."""

    name: str
    path: Path

    @property
    def lab(self) -> str:
        """The number of its lab, such as ``04b``."""
        return _number(self.path)

    @property
    def later(self) -> list[str]:
        """The names of the exercises that come after it in its lab."""
        every = list(exercises().values())
        return [other.name for other in every[every.index(self) + 1 :] if other.path == self.path]

    def next(self, passed: Collection[str] = ()) -> str:
        """A sentence on what comes next in its lab, given the exercises that have passed."""
        if not self.later:
            return f"It was the last exercise of lab {self.lab}: read on there."
        if still_open := [name for name in self.later if name not in passed]:
            return f"Next: `{still_open[0]}`."
        return f"The later exercises of lab {self.lab} have passed: read on there."

    @property
    def lesson(self) -> "Lesson":
        """The parsed lesson that asks for it."""
        return _lesson(self.path)

    def script(self, *, solved: bool) -> str:
        """The script as it is handed out, or with its solutions and their markers."""
        return self.lesson.scripts(solved=solved)[f"src/{self.name}.py"]

    def is_blank(self, text: str) -> bool:
        """Whether a script is as it was handed out, apart from spaces and line ends."""
        return text.split() == self.script(solved=False).split()

    @property
    def given(self) -> dict[str, str]:
        """The scripts of its lab that are handed out complete, by name."""
        scripts = self.lesson.scripts(solved=False)
        texts = {Path(target).stem: text for target, text in scripts.items()}
        return {name: text for name, text in texts.items() if name not in self.lesson.exercises}

    @property
    def hints(self) -> dict[int, str]:
        """The fuller hints, by the number of their TODO."""
        from course.lessons import read_hints  # imports jupytext, which is slow

        numbers = todo.numbers(self.script(solved=False))
        return dict(zip(numbers, read_hints(ROOT)[self.name], strict=True))


def _number(path: Path) -> str:
    return path.stem.partition("_")[0]


@functools.cache
def _lesson(path: Path) -> "Lesson":
    from course.lessons import read  # imports jupytext, which is slow

    return read(path)


@functools.cache
def exercises() -> dict[str, Exercise]:
    """All exercises by name, in the order in which the labs ask for them."""
    return {
        name: Exercise(name, path)
        for path in lesson_marks.lab_paths()
        for name in lesson_marks.CHECK.findall(path.read_text(encoding="utf-8"))
    }


def exercise(name: str) -> Exercise:
    """The exercise of this name; raises `CourseError`, with a suggestion, if there is none."""
    if name not in exercises():
        raise CourseError(f"There is no exercise {name}. {_suggestion(name)}")
    return exercises()[name]


def _suggestion(name: str) -> str:
    """A suggestion of the closest name; if none is close, a line of names for each lab."""
    known = exercises()
    if close := difflib.get_close_matches(name.lower(), known, n=1):
        return f"Did you mean {close[0]}?"
    labs: dict[str, list[str]] = {}
    for entry in known.values():
        labs.setdefault(entry.lab, []).append(entry.name)
    return "\n".join(
        ["There are:", *(f"  lab {lab}: {', '.join(names)}" for lab, names in labs.items())]
    )
