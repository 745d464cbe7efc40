"""``python -m course``: build the notebooks, check a learner's code, measure, look at this machine."""

import argparse
import importlib
import sys

from course.core import CourseError

COMMANDS = {
    "build": ("course.commands.build", "write the notebooks and figures from the lessons"),
    "bench": (
        "course.commands.bench",
        "hold the code of the labs against torch's own, on this machine",
    ),
    "check": ("course.commands.check", "check the code that a learner wrote"),
    "lab": ("course.commands.lab", "open JupyterLab at the first notebook"),
    "doctor": (
        "course.commands.doctor",
        "say what this machine has and whether the labs will run on it",
    ),
}


def main(argv: list[str]) -> int:
    """Hand the arguments to the command's own ``main(argv)``; a CourseError is one sentence and exit code 2."""
    usage = "\n".join(f"  {name:8}{purpose}" for name, (_, purpose) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m course",
        epilog=f"commands:\n{usage}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, help="each has its own --help")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the command")
    options = parser.parse_args(argv)
    module, _ = COMMANDS[options.command]
    try:
        return importlib.import_module(module).main(options.arguments) or 0
    except CourseError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
