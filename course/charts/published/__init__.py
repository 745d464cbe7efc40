"""What others measured and published, each figure with its source, to hold one's own against."""

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
