"""The picture of a fleet's scaling: what each step is made of, and the efficiency curve up to 1024 GPUs."""

import math
from collections.abc import Sequence

from course.drawing import palette, svg
from course.explore.models import scaling as model
from course.explore.widget import Choice, Explorable, Slider, Toggle

LEFT, RIGHT = 92, svg.WIDTH - svg.MARGIN
TOP, HEIGHT = 112, 210
BAR_Y, BAR = TOP + HEIGHT + 92, 30
BLUE, ORANGE = palette.rank_colour(0), palette.rank_colour(1)
COUNTS = tuple(2**i for i in range(11))  # 1 … 1024 GPUs
EPOCHS = 90  # a common length of training on ImageNet
SAMPLES = 1_281_167  # images of ImageNet's training set

Point = tuple[float, float]  # GPUs (or ranks), efficiency measured


def scaling(points: Sequence[Point] = (), **values: object) -> Explorable:
    """Efficiency against GPUs: change the model, the batch and the links; `points` are your own (ranks, efficiency).

    `values` are the controls' first values, such as ``gpus=64``; what a control cannot take is a `CourseError`.
    """
    controls = {
        "work": Choice("Model", tuple(model.WORKLOADS), "ResNet-50"),
        "gpus": Slider("GPUs", 1, 1024, 16, step=2, log=True),
        "batch": Slider("Batch", 1, 1024, 64, step=2, log=True),
        "per_node": Slider("GPUs a node", 1, 16, 8, step=2, log=True),
        "inside": Choice("Inside a node", tuple(model.INSIDE), "NVLink"),
        "network": Choice("Between nodes", tuple(model.NETWORKS), "100 Gbit/s"),
        "hidden": Slider("May hide", 0, 100, 80, step=5, unit="%"),
        "strong": Toggle("The batch is shared by all GPUs", False),
    }
    return Explorable(lambda **state: draw(points=tuple(points), **state), **controls).at(**values)


def draw(
    work: str, gpus: int, batch: int, per_node: int, inside: str, network: str, hidden: float, strong: bool,
    points: Sequence[Point] = (),
) -> svg.Picture:  # fmt: skip
    """One state of the explorable; `batch` in samples (a GPU, or of all if `strong`), `hidden` in per cent."""
    load, share = model.WORKLOADS[work], hidden / 100
    fleet = model.Fleet(per_node, model.INSIDE[inside], model.NETWORKS[network])

    def efficient(count: int) -> float:
        return model.efficiency(load, fleet, count, batch, share, strong)

    curve = [(count, efficient(count)) for count in COUNTS]
    now = (gpus, efficient(gpus))
    each = batch / gpus if strong else batch
    step = model.step(load, fleet, gpus, each, share)
    rate = gpus * each / step.seconds
    hours = SAMPLES * EPOCHS / rate / 3600
    global_batch = svg.significant(batch if strong else batch * gpus, 3)
    return svg.card(
        BAR_Y + BAR + 34,
        _title(gpus, now[1]),
        [*_axes(), *_curve(curve, now, points), *_bar(step)],
        subtitle=f"{svg.significant(rate, 3)} samples/s with a global batch of {global_batch}; "
        f"{EPOCHS} × {SAMPLES / 1e6:.2f} M samples in {_hours(hours)}",
        alt=f"Efficiency against GPUs from 1 to 1024: {_readable(curve)}. Now: {100 * now[1]:.0f} % at {gpus}. Below, "
        f"one step: computes {_ms(step.compute)}, waits {_ms(step.exposed)} for the network.",
    )


def figures() -> dict[str, str]:
    """The still for images/, by file name."""
    return {"scaling.svg": scaling().picture}


def _title(gpus: int, efficient: float) -> str:
    if gpus == 1:
        return "One GPU has nobody to wait for"
    return f"{gpus:,} GPUs train {svg.significant(efficient * gpus, 3)} times as fast: {100 * efficient:.0f} % efficient"


def _hours(hours: float) -> str:
    if hours >= 48:
        return f"{svg.significant(hours / 24)} days"
    return f"{svg.significant(hours)} h" if hours >= 1 else f"{svg.significant(60 * hours)} min"


def _ms(seconds: float) -> str:
    return (
        f"{svg.significant(seconds * 1e3)} ms" if seconds < 1 else f"{svg.significant(seconds)} s"
    )


def _readable(curve: Sequence[Point]) -> str:
    return ", ".join(
        f"{100 * share:.0f} % at {count}" for count, share in curve if count in (1, 4, 8, 64, 1024)
    )


def _at(count: float, share: float) -> tuple[float, float]:
    x = LEFT + math.log2(count) / math.log2(COUNTS[-1]) * (RIGHT - LEFT)
    return x, TOP + HEIGHT * (1 - share)


def _axes() -> list[str]:
    bottom = TOP + HEIGHT
    parts = [svg.text(RIGHT, bottom + 34, "GPUs", colour=palette.MUTED, anchor="end")]
    for percent in (0, 25, 50, 75, 100):
        y = _at(1, percent / 100)[1]
        parts += [
            svg.line(LEFT, y, RIGHT, y),
            svg.text(LEFT - 10, y + 4, f"{percent} %", colour=palette.MUTED, anchor="end"),
        ]
    for count in COUNTS:
        x = _at(count, 0)[0]
        parts += [
            svg.line(x, bottom, x, bottom + 4),
            svg.text(x, bottom + 17, str(count), colour=palette.MUTED, anchor="middle"),
        ]
    return parts


def _curve(curve: Sequence[Point], now: Point, points: Sequence[Point]) -> list[str]:
    entries = [
        ("dot", BLUE, f"now: {100 * now[1]:.0f} % of perfect"),
        ("solid", palette.WAIT, "perfect: 100 %"),
    ]
    if points:
        entries.append(("ring", ORANGE, "measured on this machine"))
    shown = [(count, min(share, 1.05)) for count, share in points if count <= COUNTS[-1]]
    return [
        svg.legend(LEFT, 88, entries),
        svg.line(*_at(1, 1), *_at(COUNTS[-1], 1), colour=palette.WAIT, width=6),
        svg.polyline([_at(*point) for point in curve], colour=BLUE),
        svg.line(*_at(now[0], 0), *_at(*now), colour=BLUE, dash="2 3"),
        *(
            svg.circle(*_at(*point), 5, palette.CARD, stroke=ORANGE, stroke_width=2.5)
            for point in shown
        ),
        svg.circle(*_at(*now), 5, BLUE),
    ]


def _bar(step: model.Step) -> list[str]:
    """One step of one GPU: computing, and beside it what hides and what does not."""
    scale = (RIGHT - LEFT) / step.seconds
    hidden = step.comm - step.exposed
    backward = LEFT + step.compute * scale  # communication hides behind the end of the computation
    words = f"One step, {_ms(step.seconds)}"
    marks = (
        ("solid", BLUE, f"computing {_ms(step.compute)}"),
        ("hatched", BLUE, f"communicating {_ms(step.comm)}"),
        ("solid", palette.WAIT, f"waiting {_ms(step.exposed)}"),
    )
    parts = [
        svg.text(LEFT, BAR_Y - 34, words, bold=True),
        svg.legend(LEFT, BAR_Y - 12, marks),
        svg.rect(LEFT, BAR_Y, step.compute * scale, BAR / 2, BLUE),
        svg.rect(backward, BAR_Y, step.exposed * scale, BAR / 2, palette.WAIT),
    ]
    if step.comm:
        parts.append(
            svg.hatched(
                backward - hidden * scale, BAR_Y + BAR / 2 + 3, step.comm * scale, BAR / 2, BLUE
            )
        )
    return parts
