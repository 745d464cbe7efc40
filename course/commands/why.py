"""``python -m course why -- torchrun ... train.py``: where the time of a training step goes."""

from collections.abc import Sequence

from course.diagnostics import terminal


def main(argv: Sequence[str]) -> int:
    """Run the command as the terminal would, watch some steps, say where their time goes."""
    return terminal.why(argv)
