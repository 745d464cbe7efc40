"""Compare a measured number with its published neighbours, in one sentence."""

from collections.abc import Sequence

from course.charts.published.figures import Curve
from course.core import CourseError, words

NEAR = 1.5  # figures whose number across differs by this factor at the most are compared


def neighbours(at: float, value: float, published: Sequence[Curve]) -> dict[str, float]:
    """The published figures next to `value` and the highest, in rising order, by line name.

    Each line counts with its figure nearest to `at`; {} if no line has one near it.
    """
    figures = sorted((_nearest(line, at), line.name) for line in published if _reaches(line, at))
    lower = [figure for figure in figures if figure[0] <= value][-1:]
    higher = [figure for figure in figures if figure[0] > value][:1]
    return {name: there for there, name in [*lower, *higher, *figures[-1:]]}


def stands(name: str, at: float, value: float, published: Sequence[Curve]) -> str:
    """A sentence that compares `value` with the nearest published figures and the highest.

    `value` is in the unit of the lines. Raises `CourseError` if it is not above 0, or if no line
    has a figure near `at`.
    """
    if not value > 0:
        raise CourseError(f"{name} has {value}: only numbers above 0 can be compared.")
    around = neighbours(at, value, published)
    if not around:
        raise CourseError(f"Nothing was published near {at:,.0f} {published[0].along}.")
    others = ", ".join(f"{words.significant(there)} ({other})" for other, there in around.items())
    top, unit = max(around.values()), published[0].unit
    times = words.significant(max(top, value) / min(top, value))
    than = f"that is {times} times as much" if top > value else f"yours is {times} times that"
    return f"{name}: {words.significant(value)} {unit}. Published: {others}; {than}."


def _nearest(line: Curve, at: float) -> float:
    """The figure of the line whose number across is nearest, by factor, to `at`."""
    return min(line.figures, key=lambda figure: max(figure[0], at) / min(figure[0], at))[1]


def _reaches(line: Curve, at: float) -> bool:
    return any(max(first, at) / min(first, at) <= NEAR for first, _ in line.figures)
