"""Run a command of the course: ``python -m course NAME``, or ``course NAME``.

In a folder with other people's files, use ``course``: ``python -m`` looks for modules in the
current folder first, and would run a learner's ``course.py``.
"""

import contextlib
import importlib
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import metadata

from course.core import CourseError, imports

# Each of these is a function of the same name in course/diagnostics/terminal.py.
QUESTIONS = {
    "run": "it hangs or fails: run it, and say why",
    "why": "it is slow: say where the time of its steps goes",
    "right": "it may be wrong: say whether its ranks compute what they should",
    "fit": "it may not fit: say on how many GPUs of which size it does",
}
# Each of these is a file of the same name in course/commands/.
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


def main(argv: Sequence[str]) -> int:
    """Run the command that `argv` begins with, and return its exit code.

    Return 2 for an unknown command, a `CourseError` or a missing package, and 130 after an
    interrupt.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print(OVERVIEW.format(questions=_listed(QUESTIONS), others=_listed(OTHERS)))
        return 0
    name, *arguments = argv
    if name not in COMMANDS:
        print(f"Unknown command {name!r}. Commands: {', '.join(COMMANDS)}.", file=sys.stderr)
        return 2
    try:
        with imports.without("rfc3987_syntax"):  # nbformat would use it, and start slowly
            return _function(name)(arguments)
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


def _function(name: str) -> Callable[[Sequence[str]], int]:
    """The function that runs a command; imported only now, so that other commands start fast."""
    if name in QUESTIONS:
        return getattr(importlib.import_module("course.diagnostics.terminal"), name)
    return importlib.import_module(f"course.commands.{name}").main


def _listed(commands: dict[str, str]) -> str:
    width = max(map(len, COMMANDS)) + 2
    return "".join(f"  {name:{width}}{purpose}\n" for name, purpose in commands.items())


def _missing() -> list[str]:
    """The requirements of the labs that are not installed; none if the course itself is not."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        needed = [line for line in metadata.requires("multi-gpu-course") or [] if ";" not in line]
        there = {package.name.lower().replace("_", "-") for package in metadata.distributions()}
        return [line for line in needed if re.split(r"[<>=!~]", line)[0].lower() not in there]
    return []


def run() -> int:
    """Run the program ``course``, and return its exit code.

    A character that the terminal cannot encode is printed as "?" instead of raising an error.
    """
    sys.stdout.reconfigure(errors="replace")
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
