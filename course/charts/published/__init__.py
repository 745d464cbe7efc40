"""Figures that others measured and published, each with its source, to compare yours with."""

from course.charts.published.figures import UNITS, Curve, all_reduces, computed, lines, speedups
from course.charts.published.picture import draw
from course.charts.published.standing import stands

__all__ = [
    "UNITS",
    "Curve",
    "all_reduces",
    "computed",
    "draw",
    "lines",
    "speedups",
    "stands",
]
