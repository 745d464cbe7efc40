"""The picture of a number format, its bits, its range and its spacing, and the explorable made of it."""

import math

from course.drawing import palette, svg
from course.explore.models import number_formats as model
from course.explore.models.number_formats import FORMATS, Format, Update
from course.explore.widget import Choice, Explorable, Slider

FRACTION = palette.RANKS[0]
EXPONENT = palette.RANKS[2]
LEFT, RIGHT = svg.MARGIN + 84, svg.WIDTH - svg.MARGIN
BITS_Y, RANGE_Y, LINE_Y = 96, 206, 430
LOWEST, HIGHEST = -152, 130  # powers of two on the axis of ranges
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def formats(**values: object) -> Explorable:
    """What a number format keeps of a weight and of a small change to it: choose the format, move both.

    `values` are the controls' first values, such as ``format="bf16"``; one that a control cannot take is a
    `CourseError`.
    """
    controls = {
        "format": Choice("Format", tuple(FORMATS), "fp16"),
        "weight": Slider("Weight w", 1e-8, 1e6, 1, step=10**0.1, log=True),
        "change": Slider("Change", 1e-9, 1e3, 1e-4, step=10**0.1, log=True),
    }
    return Explorable(draw, **controls).at(**values)


def draw(format: str, weight: float, change: float) -> svg.Picture:
    """One state of the explorable."""
    known = FORMATS[format]
    sum_ = model.add(format, weight, change)
    reach = f"largest {readable(known.largest)}, smallest {readable(known.smallest)}"
    return svg.card(
        LINE_Y + 58,
        f"{format}: {_verdict(known, sum_, weight)}",
        [*_bits(known, sum_.weight), *_ranges(known, weight, change), *_line(known, sum_)],
        subtitle=f"{known.bits} bits in memory; {reach}, {known.digits:.1f} decimal digits",
        alt=f"The bits of {readable(sum_.weight)} in {format}; the ranges of {len(FORMATS)} formats; the numbers "
        f"around it, and where the sum of it and {readable(sum_.change)} lands: {readable(sum_.got)}.",
    )


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {"number_formats_bf16.svg": formats(format="bf16", change=0.003).picture}


def readable(value: float, digits: int = 3) -> str:
    """A number of any size with so many digits: 0.0001, 65,504, 5.96·10⁻⁸."""
    if not math.isfinite(value) or value == 0:
        return str(value).removesuffix(".0")
    if 9e-5 < abs(value) < 1e6:
        whole = len(str(int(abs(value))))
        return f"{value:,.{max(digits, whole)}g}"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return power if mantissa == "1" else f"{mantissa}·{power}"


def _verdict(known: Format, sum_: Update, wanted: float) -> str:
    if math.isinf(sum_.weight) or sum_.weight < wanted / 2:
        return f"{readable(wanted)} is kept as {readable(sum_.weight)}, {_fate(known, wanted)}"
    if sum_.change == 0:
        return "the change is below its range, and 0 before it is added"
    equation = f"{readable(sum_.weight)} + {readable(sum_.change)}"
    if math.isinf(sum_.got):
        return f"{equation} is above its range: inf"
    if sum_.arrived == 0:
        return f"{equation} = {readable(sum_.got)}. The change is lost"
    share = "all of" if abs(sum_.arrived - 1) < 0.01 else f"{svg.significant(sum_.arrived)} times"
    return f"{equation} = {readable(sum_.got, 6)}: {share} the change arrives"


def _fate(known: Format, value: float) -> str:
    return "below its range" if value < known.largest else "above its range"


def _bits(known: Format, value: float) -> list[str]:
    """The stored bits, in boxes; the 13 that tf32 does not read are pale."""
    sign, exponent, fraction = known.fields(value)
    unread = "·" * (known.bits - len(sign + exponent + fraction))
    width = 704 / 32
    parts, x = [], float(svg.MARGIN)
    groups = (
        (sign, palette.MUTED, "±"),
        (exponent, EXPONENT, f"exponent, {len(exponent)} bits: range"),
        (fraction, FRACTION, f"fraction, {len(fraction)}: precision"),
        (unread, palette.WAIT, "not read"),
    )
    for digits, colour, words in groups:
        if not digits:
            continue
        if fitting := _fitting(words, width * len(digits)):
            parts.append(svg.text(x, BITS_Y - 8, fitting, colour=palette.MUTED))
        for digit in digits:
            ground = (
                colour
                if colour == palette.WAIT
                else palette.tint(colour, 0.0 if digit == "1" else 0.8)
            )
            ink = palette.CARD if digit == "1" else palette.INK
            parts.append(svg.rect(x, BITS_Y, width - 2, 26, ground, rx=2))
            parts.append(
                svg.text(x + width / 2 - 1, BITS_Y + 18, digit, colour=ink, anchor="middle")
            )
            x += width
    read = f"= {readable(value)}"
    if known.bits < 32:
        parts.append(svg.text(x + 10, BITS_Y + 18, read, bold=True))
    else:
        parts.append(svg.text(RIGHT, BITS_Y + 44, read, bold=True, anchor="end"))
    return parts


def _fitting(words: str, width: float) -> str:
    """The words that stand in `width` pixels, or what is before their colon, or before their comma."""
    shorter = (words, words.partition(":")[0], words.partition(",")[0])
    return next((text for text in shorter if svg.text_width(text) * 0.92 <= width), "")


def _ranges(known: Format, weight: float, change: float) -> list[str]:
    """A bar for each format from its smallest to its largest number, the weight and the change as lines."""
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
    for i, each in enumerate(FORMATS.values()):
        y = RANGE_Y + row * i
        colour = EXPONENT if each is known else palette.mix(EXPONENT, palette.WAIT, 0.8)
        parts += [
            svg.text(svg.MARGIN, y + 11, each.name, bold=each is known),
            svg.rect(
                x(each.smallest),
                y,
                x(each.smallest_normal) - x(each.smallest),
                13,
                palette.tint(colour, 0.65),
            ),
            svg.rect(
                x(each.smallest_normal), y, x(each.largest) - x(each.smallest_normal), 13, colour
            ),
        ]
    for power in range(-40, 39, 10):
        at = x(10.0**power)
        label = f"10{str(power).translate(SUPERSCRIPTS)}"
        parts += [
            svg.line(at, RANGE_Y - 4, at, bottom + 2),
            svg.text(at, bottom + 15, label, colour=palette.MUTED, anchor="middle"),
        ]
    for value, name in ((weight, "w"), (change, "change")):
        parts.append(
            svg.line(x(value), RANGE_Y - 8, x(value), bottom + 2, colour=palette.INK, width=1.6)
        )
        side, anchor = (
            (0, "middle") if name == "w" or abs(x(weight) - x(change)) > 40 else (-6, "end")
        )
        if side and change > weight:
            side, anchor = 6, "start"
        parts.append(svg.text(x(value) + side, RANGE_Y - 11, name, bold=True, anchor=anchor))
    return parts


def _line(known: Format, sum_: Update) -> list[str]:
    """The numbers of the format near the weight, where the sum should be, and where it lands."""
    head = svg.text(svg.MARGIN, LINE_Y - 44, "Around w", bold=True)
    if not math.isfinite(sum_.weight):
        return [
            head,
            svg.text(
                svg.MARGIN,
                LINE_Y,
                "There is nothing to add to: w itself is inf.",
                colour=palette.MUTED,
            ),
        ]
    step = known.spacing(sum_.weight)
    gap = svg.text(
        svg.MARGIN + 84,
        LINE_Y - 44,
        f"the next number is {readable(step)} away",
        colour=palette.MUTED,
    )
    span = max(6 * step, 1.6 * sum_.change)
    start = sum_.weight - span / 4

    def x(value: float) -> float:
        return svg.MARGIN + 20 + (RIGHT - svg.MARGIN - 40) * min((value - start) / span, 1)

    parts = [head, gap, svg.line(svg.MARGIN, LINE_Y, RIGHT, LINE_Y, colour=palette.MUTED)]
    parts += _neighbours(known, start, start + span, x)
    parts.append(
        svg.line(x(sum_.weight), LINE_Y - 16, x(sum_.weight), LINE_Y, colour=palette.INK, width=2)
    )
    parts.append(svg.text(x(sum_.weight), LINE_Y - 22, "w", bold=True, anchor="middle"))
    parts += _landing(sum_, x)
    return parts


def _neighbours(known: Format, start: float, end: float, x) -> list[str]:
    """A tick for each number of the format between two others; a band where they are closer than four pixels."""
    parts, value = [], known.round(start)
    while value <= min(end, known.largest):
        step = known.spacing(value if value >= 0 else -value)
        if x(value + step) - x(value) < 4:
            band_end = min(end, known.largest, 2 * value if value > 0 else end)
            parts.append(
                svg.rect(
                    x(value), LINE_Y - 5, x(band_end) - x(value), 10, palette.tint(FRACTION, 0.5)
                )
            )
            value = band_end + step
            continue
        if value >= start:
            parts.append(
                svg.line(x(value), LINE_Y - 8, x(value), LINE_Y + 8, colour=FRACTION, width=1.6)
            )
        value += step
    return parts


def _landing(sum_: Update, x) -> list[str]:
    """The exact sum as a ring, what is stored as a dot, each with its value."""
    y = LINE_Y + 34
    entries = [("ring", palette.INK, f"exact: {readable(sum_.wanted, 6)}")]
    parts = [
        svg.circle(x(sum_.wanted), LINE_Y, 5, palette.CARD, stroke=palette.INK, stroke_width=2)
    ]
    if math.isfinite(sum_.got):
        lost = sum_.arrived == 0
        colour = palette.ALARM if lost else palette.GOOD
        parts.append(svg.circle(x(sum_.got), LINE_Y, 3, colour))
        words = f"stored: {readable(sum_.got, 6)}" + ", as if nothing had happened" * lost
        entries.append(("dot", colour, words))
    return [*parts, svg.legend(svg.MARGIN, y, entries)]
