"""The picture of gradients in a format as the loss scale moves them."""

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import loss_scale as model
from course.explore.models.number_formats import FORMATS

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
LABELS = {
    "zero": "become 0",
    "subnormal": "lose digits",
    "whole": "keep all",
    "infinite": "become inf",
}


def draw(histogram: model.Histogram, where: str, format: str, power: int) -> svg.Picture:
    """Draw one state: the `histogram` of the gradients of `where`, scaled by 2^power."""
    fate = model.fate(format, histogram, power)
    best = model.highest_power(format, histogram)
    advice = "some overflow even unscaled"
    if best >= 0:
        advice = f"no overflow up to a scale of {words.power(2, best)}"
    shares = ", ".join(
        f"{_percent(getattr(fate, zone))} {label}" for zone, label in _labels(format).items()
    )
    return svg.card(
        BOTTOM + 62,
        f"{format}, loss × {2**power:,}: {_outcome(format, fate)}",
        [*_zones(format), *_bars(format, histogram, power), *_axis()],
        subtitle=f"Gradients of the {where}, {sum(histogram.values()):,} that are not 0; {advice}",
        alt="A histogram of the sizes of gradients over powers of two, "
        f"in the zones of {format}: {shares}",
    )


def _outcome(name: str, fate: model.Fate) -> str:
    """Describe in words what happens to the gradients, for the title."""
    if not fate.infinite:
        return f"{_percent(fate.zero)} become 0, {_percent(fate.subnormal)} lose digits"
    lost = ", so the step is lost" if FORMATS[name].infinity else ""
    return f"{_percent(fate.infinite)} {_labels(name)['infinite']}{lost}"


def _labels(name: str) -> dict[str, str]:
    """The label of each fate in the format called `name`."""
    known = FORMATS[name]
    return LABELS if known.infinity else LABELS | {"infinite": f"are cut to {known.largest:g}"}


def _percent(share: float) -> str:
    """Format a share as a percentage that reads 0 only if the share is 0."""
    if 0 < share < 0.0001:
        return "under 0.01 %"
    if 0.995 <= share < 1:
        return f"{100 * share:.2f} %"  # never rounded up to 100
    return f"{words.significant(100 * share)} %"


def _x(power: float) -> float:
    return LEFT + (RIGHT - LEFT) * (min(max(power, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST)


def _zones(name: str) -> list[str]:
    """Draw a pale background for each range of sizes with the same fate."""
    parts, start = [], LOWEST
    for power in range(LOWEST, HIGHEST + 1):
        zone = model.zone(name, start)
        if power < HIGHEST and model.zone(name, power) == zone:
            continue
        left, width, colour = _x(start), _x(power) - _x(start), COLOURS[zone]
        ground = palette.tint(colour, 0.9)
        parts.append(svg.rect(left, TOP - 30, width, BOTTOM - TOP + 30, ground))
        label, style = _labels(name)[zone], {"anchor": "middle", "bold": True, "colour": colour}
        if svg.text_width(label) * 0.9 < width:
            parts.append(svg.text(left + width / 2, TOP - 13, label, **style))
        start = power
    return parts


def _bars(name: str, histogram: model.Histogram, power: int) -> list[str]:
    """Draw a bar for each power of two in the colour of its fate; the ends include all beyond."""
    shown: dict[int, int] = {}
    for exponent, count in histogram.items():
        place = min(max(exponent + power, LOWEST), HIGHEST - 1)
        shown[place] = shown.get(place, 0) + count
    total, highest = sum(shown.values()), max(shown.values())
    width = _x(LOWEST + 1) - _x(LOWEST)
    parts = []
    for place, count in sorted(shown.items()):
        height = max(1.5, (BOTTOM - TOP) * count / highest)
        sizes = f"{words.power(2, place)} to {words.power(2, place + 1)}"
        tip, colour = f"{sizes}: {100 * count / total:.3g} %", COLOURS[model.zone(name, place)]
        parts.append(svg.rect(_x(place), BOTTOM - height, width - 1, height, colour, tip=tip))
    return parts


def _axis() -> list[str]:
    parts, grey = [svg.line(LEFT, BOTTOM, RIGHT, BOTTOM)], palette.MUTED
    for power in range(-50, HIGHEST, 10):
        x, label = _x(power), words.power(2, power)
        parts.append(svg.line(x, BOTTOM, x, BOTTOM + 4))
        parts.append(svg.text(x, BOTTOM + 17, label, colour=grey, anchor="middle"))
    label = "size of a gradient, scaled"
    return [*parts, svg.text(RIGHT, BOTTOM + 36, label, colour=grey, anchor="end")]


@explorable
def loss_scale(metrics=None) -> Description:
    """The gradients of a run, in a format of your choice, under a loss scale of your choice.

    `metrics` is the table of a run (`run.metrics`) with rows of `where`, `exponent` and `count`: a
    histogram; without it, a run of lab 05 is shown. A table without such rows is a `CourseError`.
    """
    rows = None if metrics is None else metrics.to_dict("records")
    measured = model.recorded() if rows is None else model.histograms(rows)

    def draw_part(where: str, format: str, power: int) -> svg.Picture:
        return draw(measured[where], where, format, power)

    return draw_part, {
        "where": Choice("Gradients of", tuple(measured), next(iter(measured))),
        "format": Choice("Format", NARROW, "fp16"),
        "power": Slider("Loss scale: 2 to the power of", 0, 32, 0),
    }
