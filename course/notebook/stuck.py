"""Help for a learner who is stuck: a fuller hint, the solution, a fresh start, what changed.

All of it comes from the lessons, which the installed package contains as well.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from course.core import KEPT, CourseError, lesson_marks, read_script, todo, write_atomically
from course.exercises import Exercise
from course.notebook import progress
from course.notebook.diff import Diff
from course.notebook.store import SRC


class Prose:
    """Markdown that a notebook renders, and a terminal shows unchanged."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


@dataclass(frozen=True)
class Attempt:
    """A learner's work on an exercise, in the folder `src`."""

    exercise: Exercise
    src: Path = SRC

    @property
    def name(self) -> str:
        """The name of the exercise."""
        return self.exercise.name

    @property
    def path(self) -> Path:
        """The path of the learner's script."""
        return self.src / f"{self.name}.py"

    def written(self) -> str:
        """The text of the learner's script; "" if there is none."""
        return read_script(self.path) if self.path.is_file() else ""

    def hint(self, number: int | None = None) -> Prose:
        """The fuller hint for TODO `number`.

        Without a number, it is the hint for the first open TODO, or all hints if none is open.
        Raises `CourseError` for a number that the exercise does not have.
        """
        hints = self.exercise.hints
        if number is not None and number not in hints:
            known = ", ".join(map(str, hints))
            raise CourseError(f"{self.name} has no TODO {number}; it has {known}.")
        still_open = [n for n in todo.numbers(self.written()) if n in hints]
        shown = [number] if number is not None else still_open[:1] or list(hints)
        parts = [f"**TODO {n}.** {hints[n]}" for n in shown]
        if others := [n for n in hints if n not in shown]:
            commands = _or_list(f"`%hint {self.name} {n}`" for n in others)
            parts.append(f"For another TODO: {commands}.")
        return Prose("\n\n".join(parts))

    def solution(self) -> Prose:
        """The solved script, without the markers around its solutions.

        Raises `CourseError` in an edition of the course that has no solutions.
        """
        solved = self.exercise.script(solved=True)
        if todo.numbers(solved):
            raise CourseError("This edition of the course has no solutions. `%hint` works here.")
        code = "\n".join(lesson_marks.unmarked(solved.splitlines()))
        lab = f"`solutions/{self.exercise.path.stem}.ipynb` has it with its outputs."
        return Prose(f"```python\n{code}\n```\n\n{lab}")

    def reset(self) -> Path | None:
        """Write the blank script, and return the path of the learner's version.

        Returns None if there was no script, or an unchanged one. Raises `CourseError` if a file
        cannot be written; the learner's version then stays in its place.
        """
        blank = self.exercise.script(solved=False)
        stamp = f"{datetime.now():%Y-%m-%d-%H%M%S}"
        backup = self.src / KEPT / f"{self.name}-{stamp}.py"
        changed = self.path.is_file() and self.written() != blank
        try:
            if changed:
                backup.parent.mkdir(parents=True, exist_ok=True)
                self.path.rename(backup)
            write_atomically(self.path, blank)
        except OSError as error:
            if backup.exists():
                backup.rename(self.path)
            why = f"{self.path} cannot be put back: {error.strerror}"
            raise CourseError(f"{why}. Your version is unharmed.") from None
        return backup if changed else None

    def changes(self) -> Diff:
        """The changes since the version that passed last; raises `CourseError` if none has."""
        before = progress.read(self.name, self.src)
        if not before or not before.passed_at:
            raise CourseError(
                f"{self.name} has not passed here yet, so there is nothing to compare with."
            )
        passed = f"{self.path} as it passed on {progress.date_and_time(before.passed_at)}"
        names = (passed, f"{self.path} as it is now")
        return Diff(before.script.splitlines(), self.written().splitlines(), names, context=2)


def _or_list(commands: Iterable[str]) -> str:
    """Join commands to a list in words: `a`, `b` or `c`."""
    *first_ones, last = commands
    return f"{', '.join(first_ones)} or {last}" if first_ones else last


def print_last_pass(attempt: Attempt) -> None:
    """Print when this exercise last passed, above a check that fails now; nothing if never."""
    record = progress.read(attempt.name, attempt.src)
    if not record or not record.passed_at:
        return
    passed = f"{attempt.name} passed on {progress.date_and_time(record.passed_at)}"
    if record.script == attempt.written():
        same = f"{attempt.path} is still as it was then. Look at the scripts that it imports"
        print(f"{passed}, and {same}.")
    else:
        changes = f"`%changes {attempt.name}` shows what is different in {attempt.path} now"
        print(f"{passed}. {changes}.")
