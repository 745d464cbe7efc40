"""In client and launcher: can this command be started? If not, one sentence says why."""

import os
from pathlib import Path

from course.core import CourseError

PROGRAMS = ("torchrun", "accelerate", "python")


def check(words: list[str]) -> None:
    """Raise `CourseError` for a command that no supervisor need be asked to run."""
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
    """What to say where the script is not there; None where it is."""
    if Path(script).is_file():
        return None
    return (
        f"There is no script {script} in {os.getcwd()}: "
        "run the cell that writes it, or check the name."
    )
