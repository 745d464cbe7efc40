"""``python -m course run -- torchrun ... train.py``: does it hang, does it crash, and why?"""

from collections.abc import Sequence

from course.own import terminal


def main(argv: Sequence[str]) -> int:
    """Run the command as the terminal would; say why, where it hangs or fails."""
    return terminal.run(argv)
