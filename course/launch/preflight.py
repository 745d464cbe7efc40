"""In client and launcher: find out in advance whether a command can be started, and if not, why."""

import os
import sys
from pathlib import Path

from course.core import CourseError

PROGRAMS = ("torchrun", "accelerate", "python")
# Modules that start ranks, as `python -m` names them, and their commands.
LAUNCHERS = {
    "torch.distributed.run": ["torchrun"],
    "accelerate.commands.launch": ["accelerate", "launch"],
    "accelerate.commands.accelerate_cli": ["accelerate"],
}


def shorten(command: list[str]) -> list[str]:
    """The same command by its short name: torchrun for `python3 -m torch.distributed.run`."""
    match command:
        case ["python3" | sys.executable, *rest]:
            return shorten(["python", *rest])
        case ["python", "-m", module, *rest] if module in LAUNCHERS:
            return [*LAUNCHERS[module], *rest]
    return command


def check(command: list[str]) -> None:
    """Raise `CourseError` for a command that cannot run, before it reaches a supervisor."""
    if not command or command[0] not in PROGRAMS:
        raise CourseError(
            f"A launch in a notebook begins with one of {', '.join(PROGRAMS)}, not with "
            f"{command[0] if command else 'nothing'}. Type any other command in a terminal, after "
            "python -m course run --."
        )
    if command[0] == "python":
        script = command[1] if len(command) > 1 else ""
        if not script:
            raise CourseError("%python runs a script: %python src/NAME.py ARGUMENTS.")
        if not script.startswith("-") and (why := missing(script)):
            raise CourseError(why)


def missing(script: str) -> str | None:
    """A sentence on how to mend it if the script is missing; None if it is there."""
    if Path(script).is_file():
        return None
    return (
        f"There is no script {script} in {os.getcwd()}: "
        "run the cell that writes it, or check the name."
    )
