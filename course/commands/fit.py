"""``python -m course fit -- torchrun ... train.py``: on how many GPUs of which size does it fit?"""

from collections.abc import Sequence

from course.diagnostics import terminal


def main(argv: Sequence[str]) -> int:
    """Rehearse the command on tensors without memory; say where it fits, and what would help."""
    return terminal.fit(argv)
