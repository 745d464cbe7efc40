"""Plausible wrong answers to the exercises, and how they are put to the checks.

A mutant is the solved script with one change. It must be rejected by the check that names its fault.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course.checks.engine import session
from course.lessons import lesson

ROOT = Path(__file__).parents[2]
LIMIT_S = 3.0  # for a mutant that deadlocks


@dataclass(frozen=True)
class Mutant:
    """The change `old` → `new` in the solved script of `exercise`, and the check that must reject it."""

    name: str
    exercise: str
    check: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.exercise}: {self.name}"


@cache
def solved(lab: str) -> dict[str, str]:
    """The scripts of a lab by file name, exercises solved."""
    scripts = lesson.read(ROOT / "course" / "lessons" / f"{lab}.md").scripts(solved=True)
    return {Path(path).name: text for path, text in scripts.items()}


def write(lab: str, folder: Path, mutant: Mutant | None = None) -> None:
    """Write the solved scripts of a lab, one of them changed."""
    for name, text in solved(lab).items():
        if mutant and name == f"{mutant.exercise}.py":
            assert text.count(mutant.old) == 1, (
                f"{mutant}: its text stands {text.count(mutant.old)} times in {name}"
            )
            text = text.replace(mutant.old, mutant.new)
        (folder / name).write_text(text)


def verdict(lab: str, folder: Path, mutant: Mutant) -> session.Result:
    """What the check that must reject the mutant says of it."""
    write(lab, folder, mutant)
    (result,) = session.run(folder, [mutant.exercise], limit=LIMIT_S, only=mutant.check)
    return result
