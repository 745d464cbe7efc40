"""``python -m course run -- torchrun ... train.py``: does it hang, does it crash, and why?"""

from collections.abc import Sequence

from course.diagnostics import terminal


def main(argv: Sequence[str]) -> int:
    """Run the command as the terminal would; if it hangs or fails, say why."""
    return terminal.run(argv)
