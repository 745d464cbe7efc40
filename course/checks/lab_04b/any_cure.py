"""What the exercises of the clinic share: how two numbers are compared."""

import math

from course.checks.tools.reference import CLOSE


def agree(got: float, right: float) -> bool:
    """Whether two numbers are equal up to rounding, or both NaN."""
    both_nan = math.isnan(got) and math.isnan(right)
    return both_nan or math.isclose(got, right, rel_tol=CLOSE)
