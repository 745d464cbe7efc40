"""In client and supervisor: the command of a new interpreter of ours.

It starts without the current folder on `sys.path`, where a file of the learner's could stand in for
a library.
"""

import sys

BEGIN = (
    "import sys; sys.flags.safe_path or sys.path.pop(0); "
    "from course.launch.{module} import main; main()"
)


def command(module: str, *argv: str) -> list[str]:
    """The command that runs ``main()`` of a module of this package, with the arguments `argv`."""
    return [sys.executable, "-u", "-c", BEGIN.format(module=module), *argv]
