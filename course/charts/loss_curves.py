"""Several measured curves in one picture, each labelled at its end."""

import math
from collections.abc import Mapping, Sequence

from course.core import CourseError, words
from course.drawing import Picture, palette, svg

Points = Sequence[tuple[float, float]]
# Grey comes first, for the reference; the colours of ranks 0 and 3 are left out.
COLOURS = tuple(palette.RANKS[i] for i in (7, 2, 6, 1, 5, 4))
LEFT, RIGHT, TOP, BOTTOM = svg.MARGIN + 48, svg.WIDTH - 190, 80, 340


def loss_curves(
    curves: Mapping[str, Points], title: str, *, y: str = "loss", log: bool = False
) -> Picture:
    """Draw named curves of (step, value) points; with `log`, the y axis is logarithmic.

    Earlier curves are wider, so that one under another still shows. A value that is not finite, or
    with `log` not above 0, ends its curve early. Raises `CourseError` if nothing is left to draw.
    """
    shown = {name: _drawable(points, log) for name, points in curves.items()}
    shown = {name: points for name, points in shown.items() if points}
    if not shown:
        raise CourseError(
            "There is no curve to draw: give curves by name, each with (step, value) pairs."
        )
    values = [_height(value, log) for points in shown.values() for _, value in points]
    low, high = min(values) if log else min(0.0, *values), max(values)
    last = max(step for points in shown.values() for step, _ in points) or 1

    def place(step: float, value: float) -> tuple[float, float]:
        share = (_height(value, log) - low) / ((high - low) or 1)
        return LEFT + (RIGHT - LEFT) * step / last, BOTTOM - (BOTTOM - TOP) * share

    body = _grid(low, high, last, log, y)
    for i, points in enumerate(shown.values()):
        line = [place(*point) for point in points]
        body.append(svg.polyline(line, colour=_colour(i), width=2 + 5 * (1 - (i + 1) / len(shown))))
    body += _names([(name, points[-1][1], place(*points[-1])[1]) for name, points in shown.items()])
    ends = ", ".join(
        f"{name} {words.significant(points[-1][1], 3)}" for name, points in shown.items()
    )
    return svg.card(BOTTOM + 52, title, body, alt=f"{y} against the step. At the end: {ends}.")


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _drawable(points: Points, log: bool) -> list[tuple[float, float]]:
    """The points before the first one that cannot be drawn."""
    good = []
    for step, value in points:
        if not math.isfinite(value) or (log and value <= 0):
            break
        good.append((step, value))
    return good


def _height(value: float, log: bool) -> float:
    return math.log10(value) if log else value


def _grid(low: float, high: float, last: float, log: bool, y: str) -> list[str]:
    """Draw both axes, with guides at round values and labels at round steps."""
    if log:
        powers = range(math.floor(low) - 1, math.ceil(high) + 1)
        marks = [math.log10(digit * 10.0**power) for power in powers for digit in (1, 2, 5)]
    else:
        marks = svg.ticks(high, 5)
    parts = [svg.text(svg.MARGIN, TOP - 18, y, bold=True)]
    for mark in marks:
        if low - 1e-9 <= mark <= high + 1e-9:
            height = BOTTOM - (BOTTOM - TOP) * (mark - low) / ((high - low) or 1)
            label = words.significant(10**mark if log else mark, 2)
            parts.append(svg.line(LEFT, height, RIGHT, height))
            parts.append(svg.text(LEFT - 8, height + 4, label, colour=palette.MUTED, anchor="end"))
    parts.append(svg.line(LEFT, BOTTOM, RIGHT, BOTTOM))
    for step in svg.ticks(last, 5):
        x = LEFT + (RIGHT - LEFT) * step / last
        label = words.significant(step, 3)
        parts.append(svg.text(x, BOTTOM + 18, label, colour=palette.MUTED, anchor="middle"))
    return [*parts, svg.text(RIGHT, BOTTOM + 38, "step", colour=palette.MUTED, anchor="end")]


def _names(ends: list[tuple[str, float, float]]) -> list[str]:
    """Write each curve's name and last value next to its end, moved apart where ends are close."""
    parts, places = [], _spread([height + 4 for _, _, height in ends])
    for i, ((name, value, height), at) in enumerate(zip(ends, places, strict=True)):
        label = f"{name}  {words.significant(value, 3)}"
        parts.append(svg.line(RIGHT + 2, height, RIGHT + 16, at - 4, colour=_colour(i)))
        parts.append(svg.text(RIGHT + 20, at, label, colour=_colour(i), bold=True))
    return parts


def _spread(heights: list[float]) -> list[float]:
    """Move the heights of labels at least a line of text apart, and none below the plot."""
    placed = dict.fromkeys(range(len(heights)), 0.0)
    free = BOTTOM + 2.0
    for i in sorted(placed, key=lambda i: -heights[i]):
        placed[i] = min(heights[i], free)
        free = placed[i] - 17
    return list(placed.values())
