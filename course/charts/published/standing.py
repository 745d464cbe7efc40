"""Compare a measured number with its published neighbours, in one sentence."""

from collections.abc import Sequence

from course.charts.published.figures import Curve
from course.core import CourseError, words

NEAR = 1.5  # only figures whose x differs by at most this factor are compared


def neighbours(at: float, value: float, published: Sequence[Curve]) -> dict[str, float]:
    """The published figures just below and above `value`, and the highest, by line name.

    They are in rising order. Each line is represented by its figure nearest to `at`, and left out
    if that is too far away.
    """
    figures = sorted((_nearest(line, at), line.name) for line in published if _reaches(line, at))
    lower = [figure for figure in figures if figure[0] <= value][-1:]
    higher = [figure for figure in figures if figure[0] > value][:1]
    return {name: rate for rate, name in [*lower, *higher, *figures[-1:]]}


def stands(name: str, at: float, value: float, published: Sequence[Curve]) -> str:
    """A sentence that compares `value` with the nearest published figures and the highest.

    `value` is in the unit of the lines. Raises `CourseError` if it is not above 0, or if no line
    has a figure near `at`.
    """
    if not value > 0:
        raise CourseError(f"{name} has {value}: only numbers above 0 can be compared.")
    near = neighbours(at, value, published)
    if not near:
        raise CourseError(f"Nothing was published near {at:,.0f} {published[0].along}.")
    others = ", ".join(f"{words.significant(figure)} ({other})" for other, figure in near.items())
    top, unit = max(near.values()), published[0].unit
    times = words.significant(max(top, value) / min(top, value))
    comparison = f"that is {times} times as much" if top > value else f"yours is {times} times that"
    return f"{name}: {words.significant(value)} {unit}. Published: {others}; {comparison}."


def _nearest(line: Curve, at: float) -> float:
    """The figure of the line whose x is nearest to `at`, by factor."""
    return min(line.figures, key=lambda figure: max(figure[0], at) / min(figure[0], at))[1]


def _reaches(line: Curve, at: float) -> bool:
    return any(max(first, at) / min(first, at) <= NEAR for first, _ in line.figures)
