"""The picture of a number format, its bits, its range and its spacing."""

import math
from collections.abc import Iterator

from course.core import words
from course.drawing import palette, svg, touch
from course.explore.controls import FINE, Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import number_formats as model
from course.explore.models.number_formats import FORMATS, Format, Update

FRACTION = palette.RANKS[0]
EXPONENT = palette.RANKS[2]
LEFT, RIGHT = svg.MARGIN + 84, svg.WIDTH - svg.MARGIN
BITS_Y, RANGE_Y, LINE_Y = 96, 206, 430
WEIGHTS = (1e-8, 1e6)  # the range of the control
LOWEST, HIGHEST = -152, 130  # powers of two on the axis of ranges


def draw(format: str, weight: float, change: float) -> svg.Picture:
    """Draw one state of the explorable."""
    known = FORMATS[format]
    sum_ = model.add(format, weight, change)
    reach = f"largest {readable(known.largest)}, smallest {readable(known.smallest)}"
    return svg.card(
        LINE_Y + 58,
        f"{format}: {_verdict(known, sum_, weight)}",
        [*_bits(known, sum_.weight), *_ranges(known, weight, change), *_line(known, sum_)],
        subtitle=f"{known.bits} bits in memory; {reach}, {known.digits:.1f} decimal digits",
        alt=f"The bits of {readable(sum_.weight)} in {format}; "
        f"the ranges of {len(FORMATS)} formats; the numbers around it, "
        f"and where the sum of it and {readable(sum_.change)} lands: {readable(sum_.stored)}.",
        touch="Click a bit to flip it.",
    )


def readable(value: float, digits: int = 3) -> str:
    """Format a number of any size with `digits` digits: 0.0001, 65,504, 5.96·10⁻⁸."""
    if not math.isfinite(value) or value == 0:
        return str(value).removesuffix(".0")
    if 9e-5 < abs(value) < 1e6:
        whole = len(str(int(abs(value))))
        return f"{value:,.{max(digits, whole)}g}"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = words.power(10, int(exponent))
    return power if mantissa == "1" else f"{mantissa}·{power}"


def _verdict(known: Format, sum_: Update, exact: float) -> str:
    if math.isinf(sum_.weight) or sum_.weight < exact / 2:
        return f"{readable(exact)} is kept as {readable(sum_.weight)}, {_fate(known, exact)}"
    if sum_.change == 0:
        return "the change is below its range, and 0 before it is added"
    equation = f"{readable(sum_.weight)} + {readable(sum_.change)}"
    if math.isinf(sum_.stored):
        return f"{equation} is above its range: inf"
    if sum_.arrived_share == 0:
        return f"{equation} = {readable(sum_.stored)}. The change is lost"
    share = (
        "all of"
        if abs(sum_.arrived_share - 1) < 0.01
        else f"{words.significant(sum_.arrived_share)} times"
    )
    return f"{equation} = {readable(sum_.stored, 6)}: {share} the change arrives"


def _fate(known: Format, value: float) -> str:
    return "below its range" if value < known.largest else "above its range"


def _bits(known: Format, value: float) -> list[str]:
    """Draw the stored bits in boxes; the 13 bits that tf32 does not read are pale."""
    sign, exponent, fraction = known.fields(value)
    unread = "·" * (known.bits - len(sign + exponent + fraction))
    width = 704 / 32
    parts, x = [], float(svg.MARGIN)
    flips = iter(_flips(known, sign + exponent + fraction))
    groups = (
        (sign, palette.MUTED, "±"),
        (exponent, EXPONENT, f"exponent, {len(exponent)} bits: range"),
        (fraction, FRACTION, f"fraction, {len(fraction)}: precision"),
        (unread, palette.WAIT, "not read"),
    )
    for digits, colour, label in groups:
        if not digits:
            continue
        if short_label := _shorten(label, width * len(digits)):
            parts.append(svg.text(x, BITS_Y - 8, short_label, colour=palette.MUTED))
        for digit in digits:
            parts += _bit(x, width, digit, colour, next(flips, {}))
            x += width
    read = f"= {readable(value)}"
    if known.bits < 32:
        parts.append(svg.text(x + 10, BITS_Y + 18, read, bold=True))
    else:
        parts.append(svg.text(RIGHT, BITS_Y + 44, read, bold=True, anchor="end"))
    return parts


def _flips(known: Format, bits: str) -> Iterator[dict[str, str]]:
    """Yield the button of each bit; empty if the flipped value is beyond the control's range."""
    low, height = WEIGHTS
    for place, bit in enumerate(bits):
        flipped = known.value(f"{bits[:place]}{1 - int(bit)}{bits[place + 1 :]}")
        label = f"Flip bit {place + 1} of {len(bits)}: w = {readable(flipped, 6)}"
        in_range = low <= flipped <= height
        yield touch.button("weight", flipped, label) if in_range else {}


def _bit(x: float, width: float, digit: str, colour: str, flip: dict[str, str]) -> list[str]:
    """Draw one bit in its box: a 1 is dark, a 0 light; a bit that is not read stays pale."""
    shade = palette.tint(colour, 0.0 if digit == "1" else 0.8)
    ground = colour if colour == palette.WAIT else shade
    return [
        svg.rect(x, BITS_Y, width - 2, 26, ground, rx=2, **flip),
        svg.text(x + width / 2 - 1, BITS_Y + 18, digit, colour=palette.on(ground), anchor="middle"),
    ]


def _shorten(label: str, width: float) -> str:
    """Shorten a label to `width` pixels: whole, up to its colon, or up to its comma."""
    shorter = (label, label.partition(":")[0], label.partition(",")[0])
    return next((text for text in shorter if svg.text_width(text) * 0.92 <= width), "")


def _ranges(known: Format, weight: float, change: float) -> list[str]:
    """Draw a bar for each format, from its smallest to its largest number, and both values."""
    row = 19
    bottom = RANGE_Y + row * len(FORMATS)

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * (math.log2(value) - LOWEST) / (HIGHEST - LOWEST)

    faint = palette.tint(EXPONENT, 0.65)
    marks = (
        ("solid", EXPONENT, "all digits"),
        ("solid", faint, "the last digits fade (subnormal)"),
    )
    parts = [
        svg.text(svg.MARGIN, RANGE_Y - 30, "Range", bold=True),
        svg.legend(svg.MARGIN + 60, RANGE_Y - 30, marks),
    ]
    for i, fmt in enumerate(FORMATS.values()):
        y = RANGE_Y + row * i
        colour = EXPONENT if fmt is known else palette.mix(EXPONENT, palette.WAIT, 0.8)
        left, normal, right = x(fmt.smallest), x(fmt.smallest_normal), x(fmt.largest)
        parts += [
            svg.text(svg.MARGIN, y + 11, fmt.name, bold=fmt is known),
            svg.rect(left, y, normal - left, 13, palette.tint(colour, 0.65)),
            svg.rect(normal, y, right - normal, 13, colour),
        ]
    for power in range(-40, 39, 10):
        at, label = x(10.0**power), words.power(10, power)
        parts.append(svg.line(at, RANGE_Y - 4, at, bottom + 2))
        parts.append(svg.text(at, bottom + 15, label, colour=palette.MUTED, anchor="middle"))
    return parts + _values(x(weight), x(change), bottom)


def _values(weight_x: float, change_x: float, bottom: float) -> list[str]:
    """Draw the weight and the change as lines through the ranges; their names never overlap."""
    if abs(weight_x - change_x) > 40:
        side, anchor = 0, "middle"
    elif change_x > weight_x:
        side, anchor = 6, "start"
    else:
        side, anchor = -6, "end"
    names = ((weight_x, 0, "w", "middle"), (change_x, side, "change", anchor))
    parts = []
    for x, aside, name, its_anchor in names:
        parts.append(svg.line(x, RANGE_Y - 8, x, bottom + 2, colour=palette.INK, width=1.6))
        parts.append(svg.text(x + aside, RANGE_Y - 11, name, bold=True, anchor=its_anchor))
    return parts


def _line(known: Format, sum_: Update) -> list[str]:
    """Draw the format's numbers near the weight, and where the sum should be and where it lands."""
    head = svg.text(svg.MARGIN, LINE_Y - 44, "Around w", bold=True)
    if not math.isfinite(sum_.weight):
        nothing = "There is nothing to add to: w itself is inf."
        return [head, svg.text(svg.MARGIN, LINE_Y, nothing, colour=palette.MUTED)]
    step = known.spacing(sum_.weight)
    away = f"the next number is {readable(step)} away"
    gap = svg.text(svg.MARGIN + 84, LINE_Y - 44, away, colour=palette.MUTED)
    span = max(6 * step, 1.6 * sum_.change)
    start = sum_.weight - span / 4

    def x(value: float) -> float:
        return svg.MARGIN + 20 + (RIGHT - svg.MARGIN - 40) * min((value - start) / span, 1)

    at = x(sum_.weight)
    return [
        head,
        gap,
        svg.line(svg.MARGIN, LINE_Y, RIGHT, LINE_Y, colour=palette.MUTED),
        *_neighbours(known, start, start + span, x),
        svg.line(at, LINE_Y - 16, at, LINE_Y, colour=palette.INK, width=2),
        svg.text(at, LINE_Y - 22, "w", bold=True, anchor="middle"),
        *_landing(sum_, x),
    ]


def _neighbours(known: Format, start: float, end: float, x) -> list[str]:
    """Draw a tick for each number of the format, or a band where ticks would be too close."""
    parts, value = [], known.round(start)
    while value <= min(end, known.largest):
        step = known.spacing(value if value >= 0 else -value)
        if x(value + step) - x(value) < 4:
            band_end = min(end, known.largest, 2 * value if value > 0 else end)
            width, pale = x(band_end) - x(value), palette.tint(FRACTION, 0.5)
            parts.append(svg.rect(x(value), LINE_Y - 5, width, 10, pale))
            value = band_end + step
            continue
        if value >= start:
            at = x(value)
            parts.append(svg.line(at, LINE_Y - 8, at, LINE_Y + 8, colour=FRACTION, width=1.6))
        value += step
    return parts


def _landing(sum_: Update, x) -> list[str]:
    """Draw the exact sum as a ring and the stored sum as a dot, each with its value."""
    y = LINE_Y + 34
    entries = [("ring", palette.INK, f"exact: {readable(sum_.exact, 6)}")]
    ring = {"stroke": palette.INK, "stroke_width": 2}
    parts = [svg.circle(x(sum_.exact), LINE_Y, 5, palette.CARD, **ring)]
    if math.isfinite(sum_.stored):
        colour, label = palette.GOOD, f"stored: {readable(sum_.stored, 6)}"
        if sum_.arrived_share == 0:
            colour, label = palette.ALARM, f"{label}, as if nothing had happened"
        parts.append(svg.circle(x(sum_.stored), LINE_Y, 3, colour))
        entries.append(("dot", colour, label))
    return [*parts, svg.legend(svg.MARGIN, y, entries)]


@explorable
def number_formats() -> Description:
    """What a number format keeps of a weight and of a small change to it."""
    low, height = WEIGHTS
    return draw, {
        "format": Choice("Format", tuple(model.FORMATS), "fp16"),
        "weight": Slider("Weight w", low, height, 1, step=FINE, log=True, fine=True),
        "change": Slider("Change", 1e-9, 1e3, 1e-4, step=FINE, log=True),
    }
