"""In client and launcher: whether a command can be started, and one sentence if it cannot."""

import os
from pathlib import Path

from course.core import CourseError

PROGRAMS = ("torchrun", "accelerate", "python")


def check(words: list[str]) -> None:
    """Raise `CourseError` for a command that cannot run, before it reaches a supervisor."""
    if not words or words[0] not in PROGRAMS:
        raise CourseError(
            f"A launch begins with one of {', '.join(PROGRAMS)}; this one begins with {words[:1]}."
        )
    if words[0] == "python":
        script = words[1] if len(words) > 1 else ""
        if script.startswith("-") or not script:
            raise CourseError("%python runs a script: %python src/NAME.py ARGUMENTS.")
        if why := missing(script):
            raise CourseError(why)


def missing(script: str) -> str | None:
    """A sentence if the script is missing; None if it is there."""
    if Path(script).is_file():
        return None
    return (
        f"There is no script {script} in {os.getcwd()}: "
        "run the cell that writes it, or check the name."
    )
