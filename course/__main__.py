"""``python -m course``, or ``course``: find the command, and hand it its arguments.

``course`` is the one to use where others may have put files: ``python -m`` begins to look for
modules in the current folder, and would run a learner's ``course.py``.
"""

import contextlib
import importlib
import re
import shlex
import sys
from importlib import metadata

from course.core import CourseError, imports

# Each command is a file of the same name in course/commands/.
QUESTIONS = {
    "run": "it hangs or fails: run it, and say why",
    "why": "it is slow: say where the time of its steps goes",
    "right": "it may be wrong: say whether its ranks compute what they should",
    "fit": "it may not fit: say on how many GPUs of which size it does",
}
OTHERS = {
    "lab": "open JupyterLab at the start notebook",
    "update": "fetch the new version, and keep what you wrote",
    "check": "check the code that a learner wrote",
    "page": "write what passed, and what you guessed and measured, as a page to print",
    "grade": "check the code of a class, and write pages, tables and points",
    "doctor": "say what this machine has and whether the labs will run on it",
    "report": "try all of the course on this machine, and write down what came of it",
    "kit": "write the students' edition of the course, and files for graders",
    "site": "build the course as web pages",
    "build": "write the notebooks and figures from the lessons",
}
COMMANDS = QUESTIONS | OTHERS
OVERVIEW = """usage: python -m course COMMAND ...

Questions about your own training script, which stays as it is:
{questions}
For example: python -m course run -- torchrun --standalone --nproc-per-node 2 train.py

The course:
{others}
Each command has its own --help."""


def main(argv: list[str]) -> int:
    """Run a command's ``main(argv)``; a CourseError becomes one sentence and exit code 2."""
    if not argv or argv[0] in ("-h", "--help"):
        print(OVERVIEW.format(questions=_listed(QUESTIONS), others=_listed(OTHERS)))
        return 0
    name, *arguments = argv
    if name not in COMMANDS:
        print(f"There is no command {name}: {', '.join(COMMANDS)}.", file=sys.stderr)
        return 2
    try:
        with imports.without("rfc3987_syntax"):  # nbformat would build a grammar with it
            command = importlib.import_module(f"course.commands.{name}")
            return command.main(arguments) or 0
    except CourseError as error:
        print(error, file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if not (missing := _missing()) or (error.name or "").startswith("course"):
            raise
        print(
            f"`{name}` needs {error.name}, which is not installed; the labs need "
            f"{len(missing)} more packages: pip install {shlex.join(missing)}",
            file=sys.stderr,
        )
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def _listed(commands: dict[str, str]) -> str:
    width = max(map(len, COMMANDS)) + 2
    return "".join(f"  {name:{width}}{purpose}\n" for name, purpose in commands.items())


def _missing() -> list[str]:
    """The packages that the labs need and that are missing next to torch alone."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        needed = [line for line in metadata.requires("multi-gpu-course") or [] if ";" not in line]
        there = {package.name.lower().replace("_", "-") for package in metadata.distributions()}
        return [line for line in needed if re.split(r"[<>=!~]", line)[0].lower() not in there]
    return []


def run() -> int:
    """Run the program ``course``, and return its exit code.

    A character that the terminal's encoding lacks is printed as "?", so that it ends no command.
    """
    sys.stdout.reconfigure(errors="replace")
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
