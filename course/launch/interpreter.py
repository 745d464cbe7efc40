"""In client and supervisor: the command that runs one of our modules in a new interpreter.

The interpreter drops the current folder from `sys.path`, because a learner's file there could
shadow a library.
"""

import sys

BEGIN = (
    "import sys; sys.flags.safe_path or sys.path.pop(0); "
    "from course.launch.{module} import main; main()"
)


def command(module: str, *argv: str) -> list[str]:
    """The command that runs ``main()`` of a module of this package, with the arguments `argv`."""
    return [sys.executable, "-u", "-c", BEGIN.format(module=module), *argv]
