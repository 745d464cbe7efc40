"""SVG marks: every drawing of the course is made of these, on a white card.

Hatching is drawn as clipped lines, not as a pattern, so a drawing has no ids that could clash on a
page with many drawings. Lengths are pixels of a card about 760 wide; numbers are written with at
most two decimals, so that a drawing is the same on every machine.
"""

import html
import math
from collections.abc import Iterator, Sequence
from unicodedata import east_asian_width

from course.core import words
from course.drawing import palette
from course.drawing.picture import Picture

WIDTH = 760  # of a card, in pixels
MARGIN = 28  # on the left and right of a card
SIZE = 12  # font size of ordinary text
HATCHING = 6  # pixels from one hatching line to the next
Spot = tuple[float, float]  # x and y


def number(value: float) -> str:
    """`value` with at most two decimals and no trailing zeros, the same on every machine."""
    written = f"{value:.2f}" if abs(value) >= 0.005 else "0.00"  # never "-0"
    return written.rstrip("0").rstrip(".")


def element(name: str, *children: str, **attributes: object) -> str:
    """One SVG element: ``stroke_width=2`` becomes ``stroke-width="2"``, None leaves it out."""
    written = "".join(
        f' {key.replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(children)}</{name}>" if children else f"<{name}{written}/>"


def _value(value: object) -> str:
    return number(value) if isinstance(value, (int, float)) else html.escape(str(value), quote=True)


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: float = SIZE,
    colour: str = palette.INK,
    anchor: str = "start",
    bold: bool = False,
) -> str:
    """`content` with its baseline at (x, y); `anchor` is start, middle or end."""
    return element(
        "text",
        html.escape(content, quote=False),
        x=x,
        y=y,
        font_size=size,
        fill=palette.as_text(colour),
        text_anchor=None if anchor == "start" else anchor,
        font_weight="bold" if bold else None,
    )


def columns(content: str) -> int:
    """The width of a text in letters; a Hangul or kanji character is as wide as two."""
    return sum(2 if east_asian_width(character) in "FW" else 1 for character in content)


def text_width(content: str, size: float = SIZE, bold: bool = False) -> float:
    """The rough width of a text in pixels, slightly generous: enough to know whether it fits."""
    return columns(content) * size * (0.68 if bold else 0.6)


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    tip: str = "",
    **attributes: object,
) -> str:
    """A rectangle; `tip` appears under the pointer."""
    children = (element("title", html.escape(tip, quote=False)),) if tip else ()
    return element(
        "rect", *children, x=x, y=y, width=max(width, 0), height=height, fill=fill, **attributes
    )


def hair(width: float) -> float:
    """The gap from a mark to its neighbour: 1 px, less if the mark itself is narrow."""
    return min(1, width / 4)


def hatched(
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    *,
    tip: str = "",
    **attributes: object,
) -> str:
    """A rectangle marked as communication: diagonal lines in `colour` on a pale ground."""
    width = max(width, 0)
    paler = palette.tint(colour, 0.86)
    edge = {"stroke": colour, "stroke_width": 1} | attributes
    ground = rect(x, y, width, height, paler, tip=tip, **edge)
    d = "".join(_diagonals(x, y, width, height))
    if not d:
        return ground
    return ground + element(
        "path", d=d, stroke=colour, stroke_width=1.4, fill="none", pointer_events="none"
    )


def _diagonals(x: float, y: float, width: float, height: float) -> Iterator[str]:
    """Lines `HATCHING` apart that rise to the right, clipped to the rectangle."""
    offset = HATCHING - (x % HATCHING)  # so that lines continue across neighbouring rectangles
    while offset < width + height:
        left, right = max(offset - height, 0), min(offset, width)
        start = f"M{number(x + left)} {number(y + offset - left)}"
        yield start + f"L{number(x + right)} {number(y + offset - right)}"
        offset += HATCHING


def line(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    *,
    colour: str = palette.RULE,
    width: float = 1,
    dash: str | None = None,
) -> str:
    """A straight line."""
    return element(
        "path",
        d=f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}",
        stroke=colour,
        stroke_width=width,
        stroke_dasharray=dash,
        fill="none",
    )


def polyline(points: Sequence[tuple[float, float]], *, colour: str, width: float = 2) -> str:
    """A line through `points`."""
    d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return element(
        "path", d=d, stroke=colour, stroke_width=width, stroke_linejoin="round", fill="none"
    )


def polygon(points: Sequence[tuple[float, float]], fill: str, **attributes: object) -> str:
    """A filled area with corners at `points`."""
    return element(
        "polygon",
        points=" ".join(f"{number(x)},{number(y)}" for x, y in points),
        fill=fill,
        **attributes,
    )


def circle(x: float, y: float, radius: float, fill: str, **attributes: object) -> str:
    """A disc around (x, y)."""
    return element("circle", cx=x, cy=y, r=radius, fill=fill, **attributes)


def arrow(
    x1: float, y1: float, x2: float, y2: float, *, colour: str = palette.INK, width: float = 2
) -> str:
    """An arrow from the first point to the second, for bytes that move."""
    length = math.hypot(x2 - x1, y2 - y1) or 1
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    head, half = 6 * math.sqrt(width), 3.2 * math.sqrt(width)
    bx, by = x2 - head * ux, y2 - head * uy
    tip = [(x2, y2), (bx - half * uy, by + half * ux), (bx + half * uy, by - half * ux)]
    return line(x1, y1, bx, by, colour=colour, width=width) + polygon(tip, colour)


def rim_to_rim(source: Spot, target: Spot, rim: float, aside: float = 0) -> tuple[Spot, Spot]:
    """The ends of a line between two discs of radius `rim`.

    Facing the target, it runs `aside` pixels to the right of the line between their centres.
    """
    (x1, y1), (x2, y2) = source, target
    length = math.hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    dx, dy = -uy * aside, ux * aside
    return (x1 + ux * rim + dx, y1 + uy * rim + dy), (x2 - ux * rim + dx, y2 - uy * rim + dy)


def ticks(top: float, count: int = 7) -> list[float]:
    """About `count` numbers from 0 up to `top` (> 0), 1, 2 or 5 times a power of ten apart."""
    rough = top / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    return [i * step for i in range(math.floor(top / step * 1.0001) + 1)]


def round_up(value: float) -> float:
    """Round `value` (> 0) up to 1, 1.5, 2, 3, 4, 5, 6, 8 or 10 times a power of ten.

    An axis that ends there stays the same while a control moves a little. A value less than a
    ten-thousandth above such a number is rounded down to it: the difference is invisible, and is
    often only the rounding error of a sum.
    """
    power = 10 ** math.floor(math.log10(value))
    ends = (power * factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10))
    return next(end for end in ends if end >= value * 0.9999)


def axis(x: float, y: float, width: float, top: float, unit: str, *, rise: float = 0) -> str:
    """A horizontal axis at y from 0 to `top` (in `unit`), with guides that rise `rise` px."""
    marks = [line(x, y, x + width, y)]
    for value in ticks(top):
        at = x + width * value / top
        marks.append(line(at, y - rise, at, y + 4))
        label = words.significant(value, 3)
        marks.append(text(at, y + 17, label, colour=palette.MUTED, anchor="middle"))
    return "".join(marks) + text(x + width, y + 33, unit, colour=palette.MUTED, anchor="end")


def legend(x: float, y: float, entries: Sequence[tuple[str, str, str]]) -> str:
    """A legend in one line that begins at x; an entry is (mark, colour, meaning).

    A mark is ``solid``, ``hatched``, ``dot`` or ``ring``.
    """
    parts: list[str] = []
    for mark, colour, meaning in entries:
        parts += [_mark(mark, x, y, colour), text(x + 22, y, meaning, colour=palette.MUTED)]
        x += 22 + text_width(meaning) + 16
    return "".join(parts)


def _mark(mark: str, x: float, y: float, colour: str) -> str:
    if mark in ("dot", "ring"):
        fill = colour if mark == "dot" else palette.CARD
        return circle(x + 9, y - 4, 4.5, fill, stroke=colour, stroke_width=2)
    if mark == "hatched":
        return hatched(x, y - 10, 16, 11, colour)
    return rect(x, y - 10, 16, 11, colour)


def card(
    height: float,
    title: str,
    body: Sequence[str],
    *,
    subtitle: str = "",
    alt: str = "",
    touch: str = "",
    width: float = WIDTH,
) -> Picture:
    """A drawing on its white card: `title` states its point, `alt` describes what it shows.

    `touch` tells a reader which marks can be touched (see ``course.drawing.touch``). The `body`
    starts below y = 64, or below y = 48 without a subtitle.
    """
    parts = [
        element("title", html.escape(title, quote=False)),
        element("desc", html.escape(alt or subtitle or title, quote=False)),
        rect(0.5, 0.5, width - 1, height - 1, palette.CARD, stroke=palette.RULE, rx=8),
        text(MARGIN, 32, title, size=15, bold=True),
        text(MARGIN, 52, subtitle, colour=palette.MUTED) if subtitle else "",
        *body,
    ]
    return Picture(
        element(
            "svg",
            *parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {number(width)} {number(height)}",
            width=width,
            height=height,
            role="img",
            font_family=palette.FONT,
            data_touch=touch or None,
        )
    )
