"""Two logarithmic axes, and the marks shared by plots of measurements on them."""

import math
from collections.abc import Callable, Mapping, Sequence

from course.core import words
from course.drawing import palette, svg

LEFT, RIGHT = 84, svg.WIDTH - 176  # the names of the lines are further right
TOP, HEIGHT = 84, 300
BOTTOM = TOP + HEIGHT
CARD_HEIGHT = BOTTOM + 52
GREY = palette.MUTED
APART = 17  # least distance of two names, in pixels

Points = Sequence[tuple[float, float]]  # (x, y), both above 0, in order of rising x


class LogAxes:
    """Two logarithmic axes with room for all points; the x axis has guides at powers of two."""

    def __init__(
        self, points: Points, across: str, unit: str, label: Callable[[float], str] = words.size
    ) -> None:
        """Name the axes `across` (x) and `unit` (y); `label` formats a number on the x axis."""
        firsts, values = ([point[i] for point in points] for i in (0, 1))
        self.ends = min(firsts), max(max(firsts), 2 * min(firsts))
        self.guides = _guides(min(values), max(values))
        self.across, self.unit, self.label = across, unit, label

    def at(self, first: float, value: float) -> tuple[float, float]:
        """The position of (first, value) on the card."""
        share = math.log(first / self.ends[0]) / math.log(self.ends[1] / self.ends[0])
        low, high = self.guides[0], self.guides[-1]
        up = math.log(value / low) / math.log(high / low)
        return LEFT + share * (RIGHT - LEFT), BOTTOM - HEIGHT * up

    def draw(self) -> list[str]:
        """The guides and their labels."""
        return [
            *self._across(),
            *self._upright(),
            svg.text(RIGHT, BOTTOM + 38, self.across, anchor="end", colour=GREY),
            svg.text(LEFT - 10, TOP - 14, self.unit, anchor="end", colour=GREY),
        ]

    def _across(self) -> list[str]:
        """The horizontal guides, with their values."""
        parts = []
        for guide in self.guides:
            y = self.at(self.ends[0], guide)[1]
            parts.append(svg.line(LEFT, y, RIGHT, y))
            number = words.significant(guide, 1)
            parts.append(svg.text(LEFT - 10, y + 4, number, anchor="end", colour=GREY))
        return parts

    def _upright(self) -> list[str]:
        """A vertical guide at every power of two; if there are many, at every second or fourth."""
        first, last = (math.log2(end) for end in self.ends)
        interval = next((step for step, limit in ((1, 6), (2, 16)) if last - first <= limit), 4)
        parts = []
        for power in range(math.ceil(first), math.floor(last) + 1, interval):
            x = self.at(2.0**power, self.guides[0])[0]
            parts.append(svg.line(x, TOP, x, BOTTOM + 4))
            label = self.label(2.0**power)
            parts.append(svg.text(x, BOTTOM + 19, label, anchor="middle", colour=GREY))
        return parts


def _guides(low: float, high: float) -> list[float]:
    """Round numbers around `low` and `high`: powers of ten, or 1-2-5 within two decades."""
    steps = (1, 2, 5) if high / low <= 100 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    numbers = [step * 10.0**power for power in powers for step in steps]
    below = max(number for number in numbers if number <= low * 1.0001)
    above = min(number for number in numbers if number >= high * 0.9999 and number > below)
    return [number for number in numbers if below <= number <= above]


def measured_line(name: str, line: Points, axes: LogAxes, colour: str, width: float) -> list[str]:
    """Draw a measured line and its dots, whose values appear under the pointer."""
    places = [axes.at(*point) for point in line]
    parts = [svg.polyline(places, colour=colour, width=width)]
    for (first, value), (x, y) in zip(line, places, strict=True):
        tip = f"{name}, {axes.label(first)}: {words.significant(value)} {axes.unit}"
        dot = svg.circle(x, y, 1.75 * width, colour)
        parts.append(svg.element("g", svg.element("title", tip), dot))
    return parts


def named_ends(
    ends: Mapping[str, tuple[float, float]], colours: Mapping[str, str], bold: frozenset[str]
) -> list[str]:
    """Write each line's name to the right of its end, moved away from names that are too close."""
    order = sorted(ends, key=lambda name: ends[name][1])
    parts, y = [], -math.inf
    lowest = BOTTOM - APART * (len(order) - 1)
    for number, name in enumerate(order):
        x = ends[name][0]
        y = max(y + APART, min(ends[name][1], lowest + number * APART))
        pale = palette.tint(colours[name], 0.4)
        parts.append(svg.line(x + 6, ends[name][1], RIGHT + 16, y, colour=pale))
        strong = name in bold
        parts.append(svg.text(RIGHT + 20, y + 4, name, colour=colours[name], bold=strong))
    return parts
