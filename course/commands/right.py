"""``python -m course right -- torchrun ... train.py``: do the ranks compute what they should?"""

from collections.abc import Sequence

from course.diagnostics import terminal


def main(argv: Sequence[str]) -> int:
    """Run the command as the terminal would, compare its ranks, say what is wrong and why."""
    return terminal.right(argv)
