"""Measured all-reduces: bus bandwidth against the size of the buffer, one line per algorithm."""

import math
from collections.abc import Mapping, Sequence

from course.core import CourseError, words
from course.drawing import Picture, palette, svg

LEFT, RIGHT = 84, svg.WIDTH - 176  # right of it stand the names
TOP, HEIGHT = 84, 300
BOTTOM = TOP + HEIGHT
GREY = palette.MUTED
APART = 17  # pixels between two names

Line = Sequence[tuple[float, float]]  # (bytes, GB/s), by rising size


def bandwidth(
    measured: Mapping[str, Line],
    predicted: Mapping[str, Line] | None = None,
    *,
    title: str = "",
    subtitle: str = "",
) -> Picture:
    """A dot per measurement and a line per algorithm, dashed where a model predicts it.

    Sizes are in bytes, values in GB/s; both axes are logarithmic. Raises `CourseError` where there
    is nothing to draw, or a value that a logarithm cannot take.
    """
    predicted = predicted or {}
    points = [point for lines in (measured, predicted) for line in lines.values() for point in line]
    if not points or not all(size > 0 and value > 0 for size, value in points):
        raise CourseError("A bandwidth plot needs measurements, with sizes and bandwidths above 0.")
    axes = _Axes(points)
    parts = axes.draw()
    colours = {name: palette.rank_colour(i) for i, name in enumerate(measured)}
    for name, line in predicted.items():
        parts.append(_dashed([axes.at(*point) for point in line], colours.get(name, GREY)))
    for name, line in measured.items():
        parts += _line(name, line, axes, colours[name])
    parts += _names({name: axes.at(*line[-1]) for name, line in measured.items()}, colours)
    best = max(measured, key=lambda name: measured[name][-1][1])
    return svg.card(
        BOTTOM + 52,
        title or f"{best.capitalize()} is fastest for the largest buffer",
        parts,
        subtitle=subtitle or _subtitle(bool(predicted)),
        alt=_told(measured),
    )


def _subtitle(predicted: bool) -> str:
    axes = "Bus bandwidth in GB/s, both axes logarithmic"
    return f"{axes}; dashed: the model" if predicted else axes


def _told(measured: Mapping[str, Line]) -> str:
    """The ends of the lines in words, for the alt text."""
    largest = ", ".join(
        f"{name} {words.significant(line[-1][1])} GB/s" for name, line in measured.items()
    )
    return f"Bus bandwidth against the size of the buffer. Largest size: {largest}."


class _Axes:
    """Both axes logarithmic, with room for all points."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        sizes, values = ([point[i] for point in points] for i in (0, 1))
        self.sizes = min(sizes), max(max(sizes), 2 * min(sizes))
        self.decades = (
            math.floor(math.log10(min(values))),
            math.ceil(math.log10(max(values) * 1.001)),
        )

    def at(self, size: float, value: float) -> tuple[float, float]:
        """Where (size, value) lies on the card."""
        across = math.log(size / self.sizes[0]) / math.log(self.sizes[1] / self.sizes[0])
        low, high = self.decades
        up = (math.log10(value) - low) / (high - low)
        return LEFT + across * (RIGHT - LEFT), BOTTOM - HEIGHT * up

    def draw(self) -> list[str]:
        """Guides and their labels."""
        return [
            *self._across(),
            *self._upright(),
            svg.text(RIGHT, BOTTOM + 38, "buffer", anchor="end", colour=GREY),
            svg.text(LEFT - 10, TOP - 14, "GB/s", anchor="end", colour=GREY),
        ]

    def _across(self) -> list[str]:
        """A guide for every power of ten of the values."""
        parts = []
        for power in range(self.decades[0], self.decades[1] + 1):
            y = self.at(self.sizes[0], 10.0**power)[1]
            parts.append(svg.line(LEFT, y, RIGHT, y))
            parts.append(svg.text(LEFT - 10, y + 4, _plain(10.0**power), anchor="end", colour=GREY))
        return parts

    def _upright(self) -> list[str]:
        """A guide for every second (or, of many, every fourth) power of two of the sizes."""
        first, last = (math.log2(size) for size in self.sizes)
        every = 2 if last - first <= 16 else 4
        parts = []
        for power in range(math.ceil(first), math.floor(last) + 1, every):
            x = self.at(2.0**power, 10.0 ** self.decades[0])[0]
            label = words.size(2.0**power)
            parts.append(svg.line(x, TOP, x, BOTTOM + 4))
            parts.append(svg.text(x, BOTTOM + 19, label, anchor="middle", colour=GREY))
        return parts


def _plain(value: float) -> str:
    """A power of ten, written out."""
    return f"{value:,.0f}" if value >= 1 else f"{value:.{-math.floor(math.log10(value))}f}"


def _line(name: str, line: Line, axes: _Axes, colour: str) -> list[str]:
    """A measured line and its dots, whose values the pointer shows."""
    places = [axes.at(*point) for point in line]
    parts = [svg.polyline(places, colour=colour)]
    for (size, value), (x, y) in zip(line, places, strict=True):
        tip = f"{name}, {words.size(size)}: {words.significant(value)} GB/s"
        parts.append(svg.element("g", svg.element("title", tip), svg.circle(x, y, 3.5, colour)))
    return parts


def _dashed(places: list[tuple[float, float]], colour: str) -> str:
    d = "M" + "L".join(f"{svg.number(x)} {svg.number(y)}" for x, y in places)
    return svg.element(
        "path", d=d, stroke=colour, stroke_width=1.3, stroke_dasharray="2 4", fill="none"
    )


def _names(ends: Mapping[str, tuple[float, float]], colours: Mapping[str, str]) -> list[str]:
    """Each line's name right of its end, moved apart where ends are close."""
    order = sorted(ends, key=lambda name: ends[name][1])
    parts, y = [], -math.inf
    lowest = BOTTOM - APART * (len(order) - 1)
    for number, name in enumerate(order):
        x = ends[name][0]
        y = max(y + APART, min(ends[name][1], lowest + number * APART))
        parts.append(
            svg.line(x + 6, ends[name][1], RIGHT + 16, y, colour=palette.tint(colours[name], 0.4))
        )
        parts.append(svg.text(RIGHT + 20, y + 4, name, colour=colours[name], bold=True))
    return parts
