"""Detect time in Python code that neither runs the model nor loads data."""

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import OwnWork


class Python(OwnWork):
    """The script logs, computes metrics, or sleeps between its steps."""

    info = CauseInfo(
        "python",
        "other Python runs between the steps",
        "Do it once in many steps, or in another process.",
        "08",
    )
    kind = "python"
    aspect = "other Python"
    ignores_longest_step = True
