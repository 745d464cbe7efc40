"""Python that is neither model nor data."""

from course.own.slow.cause import OwnWork


class Python(OwnWork):
    """The script logs, computes metrics, or sleeps between its steps."""

    cause = kind = "python"
    about = "other Python runs between the steps"
    lab = "08"
    fine = "other Python"
    is_chance_once = True
    cure = "Do it once in many steps, or in another process."
