"""Draw a learner's own points in front of published lines in grey."""

from collections.abc import Mapping, Sequence

from course.charts.log_axes import CARD_HEIGHT, LogAxes, Points, measured_line, named_ends
from course.charts.published.figures import Curve
from course.core import CourseError, words
from course.drawing import Picture, palette, svg

BEHIND = palette.tint(palette.MUTED, 0.25)  # 3:1 on the card, as WCAG requires for lines


def draw(
    mine: Mapping[str, Points], published: Sequence[Curve], *, title: str, subtitle: str = ""
) -> Picture:
    """Draw own points by name in front of published lines; both axes are logarithmic.

    `mine` has the same quantity on the x axis as the published lines, and the same unit on the y
    axis. Raises `CourseError` if there are no own points or no published lines, if a name is taken,
    if the lines differ in what they show, or if a number is not above 0.
    """
    behind = {line.name: line.figures for line in published}
    points = [point for lines in (mine, behind) for line in lines.values() for point in line]
    if not all(mine.values()) or not mine or not behind:
        raise CourseError("This picture needs points of your own, and published lines behind them.")
    if not all(first > 0 and value > 0 for first, value in points):
        raise CourseError("Both axes are logarithmic: every number must be above 0.")
    if len({(line.along, line.unit) for line in published}) > 1 or set(mine) & set(behind):
        raise CourseError("All lines must show the same, each under a name of its own.")
    along, unit = published[0].along, published[0].unit
    label = words.size if along == "bytes" else "{:,.0f}".format
    axes = LogAxes(points, "buffer" if along == "bytes" else along, unit, label)
    colours = dict.fromkeys(behind, palette.MUTED)
    colours |= {name: palette.rank_colour(i) for i, name in enumerate(mine)}
    parts = axes.draw()
    for name, line in behind.items():
        parts += measured_line(name, line, axes, BEHIND, width=1.2)
    for name, line in mine.items():
        parts += measured_line(name, line, axes, colours[name], width=2.4)
    ends = {name: axes.at(*line[-1]) for name, line in (behind | dict(mine)).items()}
    parts += named_ends(ends, colours, bold=frozenset(mine))
    alt = f"{unit} against {along}. " + "; ".join(
        f"{name}: up to {words.significant(max(value for _, value in line))}"
        for name, line in (dict(mine) | behind).items()
    )
    own = subtitle or "In colour: yours; grey: published, not ours. Both axes are logarithmic"
    return svg.card(CARD_HEIGHT, title, parts, subtitle=own, alt=f"{alt}.")
