"""A plot of measured all-reduces: bus bandwidth by buffer size, one line per algorithm."""

from collections.abc import Mapping

from course.charts.log_axes import CARD_HEIGHT, GREY, LogAxes, Points, measured_line, named_ends
from course.core import CourseError, words
from course.drawing import Picture, palette, svg


def bandwidth(
    measured: Mapping[str, Points],
    predicted: Mapping[str, Points] | None = None,
    *,
    title: str = "",
) -> Picture:
    """Draw a dot per measurement and a line per algorithm; the lines of a model are dashed.

    Sizes are in bytes, values in GB/s; both axes are logarithmic. Raises `CourseError` for a plot
    without measurements, for an empty line, and for a size or value that is not above 0.
    """
    predicted = predicted or {}
    lines = [*measured.values(), *predicted.values()]
    points = [point for line in lines for point in line]
    drawable = measured and all(map(len, lines))
    if not drawable or not all(size > 0 and value > 0 for size, value in points):
        raise CourseError(
            "A bandwidth plot needs measurements for each line, with sizes and bandwidths above 0."
        )
    axes = LogAxes(points, "buffer", "GB/s")
    parts = axes.draw()
    colours = {name: palette.rank_colour(i) for i, name in enumerate(measured)}
    for name, line in predicted.items():
        parts.append(_dashed_line([axes.at(*point) for point in line], colours.get(name, GREY)))
    for name, line in measured.items():
        parts += measured_line(name, line, axes, colours[name], width=2)
    ends = {name: axes.at(*line[-1]) for name, line in measured.items()}
    parts += named_ends(ends, colours, bold=frozenset(measured))
    best = max(measured, key=lambda name: measured[name][-1][1])
    return svg.card(
        CARD_HEIGHT,
        title or f"{best.capitalize()} is fastest for the largest buffer",
        parts,
        subtitle=_subtitle(bool(predicted)),
        alt=_alt_text(measured),
    )


def _subtitle(predicted: bool) -> str:
    axes = "Bus bandwidth in GB/s, both axes logarithmic"
    return f"{axes}; dashed: the model" if predicted else axes


def _alt_text(measured: Mapping[str, Points]) -> str:
    """Give the last value of each line in words, for the alt text."""
    largest = ", ".join(
        f"{name} {words.significant(line[-1][1])} GB/s" for name, line in measured.items()
    )
    return f"Bus bandwidth against the size of the buffer. Largest size: {largest}."


def _dashed_line(places: list[tuple[float, float]], colour: str) -> str:
    d = "M" + "L".join(f"{svg.number(x)} {svg.number(y)}" for x, y in places)
    return svg.element(
        "path", d=d, stroke=colour, stroke_width=1.3, stroke_dasharray="2 4", fill="none"
    )
