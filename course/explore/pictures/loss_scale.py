"""The picture of gradients in a format as the loss scale moves them, and the explorable made of it."""

from course.drawing import palette, svg
from course.explore.models import loss_scale as model
from course.explore.models.number_formats import FORMATS
from course.explore.pictures.number_formats import SUPERSCRIPTS
from course.explore.widget import Choice, Explorable, Slider

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
TOP, BOTTOM = 118, 318
LOWEST, HIGHEST = -52, 26  # powers of two on the axis
NARROW = ("fp16", "bf16", "fp8 e4m3", "fp8 e5m2")
COLOURS = {
    "zero": palette.ALARM,
    "subnormal": palette.RANKS[4],
    "whole": palette.RANKS[0],
    "infinite": palette.INK,
}
WORDS = {
    "zero": "become 0",
    "subnormal": "lose digits",
    "whole": "keep all",
    "infinite": "become inf",
}


def loss_scale(metrics, **values: object) -> Explorable:
    """Gradients that a run logged as a histogram, in a format of your choice, under a loss scale of your choice.

    `metrics` is the table of a run (`run.metrics`) with rows of `where`, `exponent` and `count`; a table without them
    is a `CourseError`. `values` are the controls' first values, such as ``power=16``.
    """
    measured = model.histograms(metrics.to_dict("records"))
    controls = {
        "where": Choice("Gradients of", tuple(measured), next(iter(measured))),
        "format": Choice("Format", NARROW, "fp16"),
        "power": Slider("Loss scale: 2 to the power of", 0, 32, 0),
    }
    return Explorable(lambda where, **rest: draw(measured[where], where, **rest), **controls).at(
        **values
    )


def draw(histogram: model.Histogram, where: str, format: str, power: int) -> svg.Picture:
    """One state of the explorable: the `histogram` of the gradients of `where`, scaled by 2^power."""
    fate = model.fate(format, histogram, power)
    title = f"{format}, loss × {2**power:,}: {_percent(fate.zero)} become 0, {_percent(fate.subnormal)} lose digits"
    if fate.infinite:
        title = (
            f"{format}, loss × {2**power:,}: {_percent(fate.infinite)} {_words(format)['infinite']}"
        )
        title += ", so the step is lost" * FORMATS[format].infinity
    best = model.highest_power(format, histogram)
    advice = (
        f"no overflow up to a scale of {_power(best)}"
        if best >= 0
        else "some overflow even unscaled"
    )
    return svg.card(
        BOTTOM + 62,
        title,
        [*_zones(format), *_bars(format, histogram, power), *_axis()],
        subtitle=f"Gradients of the {where}, {sum(histogram.values()):,} that are not 0; {advice}",
        alt=f"A histogram of the sizes of gradients over powers of two, in the zones of {format}: "
        + ", ".join(
            f"{_percent(getattr(fate, zone))} {words}" for zone, words in _words(format).items()
        ),
    )


def _words(name: str) -> dict[str, str]:
    """What to call each fate in the format called `name`."""
    known = FORMATS[name]
    return WORDS if known.infinity else WORDS | {"infinite": f"are cut to {known.largest:g}"}


def _percent(share: float) -> str:
    """A share as a percentage that says 0 only where there is none."""
    if 0 < share < 0.0001:
        return "under 0.01 %"
    return (
        f"{svg.significant(100 * share, 2)} %"
        if share < 0.995 or share == 1
        else f"{100 * share:.2f} %"
    )


def _power(exponent: int) -> str:
    return f"2{str(exponent).translate(SUPERSCRIPTS)}"


def _x(power: float) -> float:
    return LEFT + (RIGHT - LEFT) * (min(max(power, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST)


def _zones(name: str) -> list[str]:
    """A pale ground for each stretch of sizes with one fate."""
    parts, start = [], LOWEST
    for power in range(LOWEST, HIGHEST + 1):
        zone = model.zone(name, start)
        if power < HIGHEST and model.zone(name, power) == zone:
            continue
        left, right = _x(start), _x(power)
        parts.append(
            svg.rect(
                left, TOP - 30, right - left, BOTTOM - TOP + 30, palette.tint(COLOURS[zone], 0.9)
            )
        )
        words = _words(name)[zone]
        if svg.text_width(words) * 0.9 < right - left:
            middle = (left + right) / 2
            parts.append(
                svg.text(middle, TOP - 13, words, anchor="middle", bold=True, colour=COLOURS[zone])
            )
        start = power
    return parts


def _bars(name: str, histogram: model.Histogram, power: int) -> list[str]:
    """A bar for each power of two, in the colour of its fate; what is off the axis is gathered at its end."""
    shown: dict[int, int] = {}
    for exponent, count in histogram.items():
        place = min(max(exponent + power, LOWEST), HIGHEST - 1)
        shown[place] = shown.get(place, 0) + count
    total, highest = sum(shown.values()), max(shown.values())
    width = _x(LOWEST + 1) - _x(LOWEST)
    parts = []
    for place, count in sorted(shown.items()):
        height = (BOTTOM - TOP) * count / highest
        tip = f"{_power(place)} to {_power(place + 1)}: {100 * count / total:.3g} %"
        colour = COLOURS[model.zone(name, place)]
        parts.append(
            svg.rect(
                _x(place), BOTTOM - max(height, 1.5), width - 1, max(height, 1.5), colour, tip=tip
            )
        )
    return parts


def _axis() -> list[str]:
    parts = [svg.line(LEFT, BOTTOM, RIGHT, BOTTOM)]
    for power in range(-50, HIGHEST, 10):
        parts.append(svg.line(_x(power), BOTTOM, _x(power), BOTTOM + 4))
        parts.append(
            svg.text(_x(power), BOTTOM + 17, _power(power), colour=palette.MUTED, anchor="middle")
        )
    return [
        *parts,
        svg.text(
            RIGHT, BOTTOM + 36, "size of a gradient, scaled", colour=palette.MUTED, anchor="end"
        ),
    ]
