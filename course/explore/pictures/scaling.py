"""The picture of a fleet's scaling: its efficiency up to 1024 GPUs, and what a step is made of."""

import math
from collections.abc import Sequence
from functools import partial

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Choice, Slider, Toggle
from course.explore.factory import Description, explorable
from course.explore.models import scaling as model

LEFT, RIGHT = 92, svg.WIDTH - svg.MARGIN
TOP, HEIGHT = 112, 210
BAR_Y, BAR = TOP + HEIGHT + 92, 30
BLUE, ORANGE = palette.rank_colour(0), palette.rank_colour(1)
COUNTS = tuple(2**i for i in range(11))  # 1 … 1024 GPUs
EPOCHS = 90  # a common length of training on ImageNet
SAMPLES = 1_281_167  # images of ImageNet's training set

Point = tuple[float, float]  # GPUs or ranks, and the efficiency


def draw(
    work: str,
    gpus: int,
    batch: int,
    per_node: int,
    inside: str,
    network: str,
    hidden: float,
    strong: bool,
    points: Sequence[Point] = (),
) -> svg.Picture:
    """Draw one state; `batch` in samples (per GPU, or of all if `strong`), `hidden` in %."""
    load, share = model.WORKLOADS[work], hidden / 100
    fleet = model.Fleet(per_node, model.INSIDE[inside], model.NETWORKS[network])

    def efficiency_at(count: int) -> float:
        return model.efficiency(load, fleet, count, batch, share, strong)

    curve = [(count, efficiency_at(count)) for count in COUNTS]
    now = (gpus, efficiency_at(gpus))
    per_gpu = batch / gpus if strong else batch
    step = model.step(load, fleet, gpus, per_gpu, share)
    rate = gpus * per_gpu / step.seconds
    lasts = words.long_duration(SAMPLES * EPOCHS / rate)
    global_batch = words.significant(batch if strong else batch * gpus, 3)
    return svg.card(
        BAR_Y + BAR + 34,
        _title(gpus, now[1]),
        [*_axes(), *_curve(curve, now, points), *_bar(step)],
        subtitle=f"{words.significant(rate, 3)} samples/s with a global batch of {global_batch}; "
        f"{EPOCHS} × {SAMPLES / 1e6:.2f} M samples in {lasts}",
        alt=f"Efficiency against GPUs from 1 to 1024: {_curve_text(curve)}. "
        f"Now: {100 * now[1]:.0f} % at {gpus}. Below, one step: computes {_time(step.compute)}, "
        f"waits {_time(step.exposed)} for the network.",
    )


def _title(gpus: int, efficiency: float) -> str:
    if gpus == 1:
        return "One GPU has nobody to wait for"
    speed = f"{words.significant(efficiency * gpus, 3)} times as fast"
    return f"{gpus:,} GPUs train {speed}: {100 * efficiency:.0f} % efficient"


def _time(seconds: float) -> str:
    return words.duration(seconds, digits=2)


def _curve_text(curve: Sequence[Point]) -> str:
    return ", ".join(
        f"{100 * share:.0f} % at {count}" for count, share in curve if count in (1, 4, 8, 64, 1024)
    )


def _position(count: float, share: float) -> tuple[float, float]:
    x = LEFT + math.log2(count) / math.log2(COUNTS[-1]) * (RIGHT - LEFT)
    return x, TOP + HEIGHT * (1 - share)


def _axes() -> list[str]:
    bottom = TOP + HEIGHT
    parts = [svg.text(RIGHT, bottom + 34, "GPUs", colour=palette.MUTED, anchor="end")]
    for percent in (0, 25, 50, 75, 100):
        y, label = _position(1, percent / 100)[1], f"{percent} %"
        parts.append(svg.line(LEFT, y, RIGHT, y))
        parts.append(svg.text(LEFT - 10, y + 4, label, colour=palette.MUTED, anchor="end"))
    for count in COUNTS:
        x, label = _position(count, 0)[0], str(count)
        parts.append(svg.line(x, bottom, x, bottom + 4))
        parts.append(svg.text(x, bottom + 17, label, colour=palette.MUTED, anchor="middle"))
    return parts


def _curve(curve: Sequence[Point], now: Point, points: Sequence[Point]) -> list[str]:
    entries = [
        ("dot", BLUE, f"now: {100 * now[1]:.0f} % of perfect"),
        ("solid", palette.WAIT, "perfect: 100 %"),
    ]
    if points:
        entries.append(("ring", ORANGE, "measured on this machine"))
    shown = [_position(count, min(share, 1.05)) for count, share in points if count <= COUNTS[-1]]
    ring = {"fill": palette.CARD, "stroke": ORANGE, "stroke_width": 2.5}
    return [
        svg.legend(LEFT, 88, entries),
        svg.line(*_position(1, 1), *_position(COUNTS[-1], 1), colour=palette.WAIT, width=6),
        svg.polyline([_position(*point) for point in curve], colour=BLUE),
        svg.line(*_position(now[0], 0), *_position(*now), colour=BLUE, dash="2 3"),
        *(svg.circle(*place, 5, **ring) for place in shown),
        svg.circle(*_position(*now), 5, BLUE),
    ]


def _bar(step: model.StepTime) -> list[str]:
    """Draw one step of one GPU: its computing, and below it the communication, hidden or not."""
    scale = (RIGHT - LEFT) / step.seconds
    hidden = step.comm - step.exposed
    backward = LEFT + step.compute * scale  # communication hides behind the end of the computation
    label = f"One step, {_time(step.seconds)}"
    marks = (
        ("solid", BLUE, f"computing {_time(step.compute)}"),
        ("hatched", BLUE, f"communicating {_time(step.comm)}"),
        ("solid", palette.WAIT, f"waiting {_time(step.exposed)}"),
    )
    parts = [
        svg.text(LEFT, BAR_Y - 34, label, bold=True),
        svg.legend(LEFT, BAR_Y - 12, marks),
        svg.rect(LEFT, BAR_Y, step.compute * scale, BAR / 2, BLUE),
        svg.rect(backward, BAR_Y, step.exposed * scale, BAR / 2, palette.WAIT),
    ]
    if step.comm:
        left, y = backward - hidden * scale, BAR_Y + BAR / 2 + 3
        parts.append(svg.hatched(left, y, step.comm * scale, BAR / 2, BLUE))
    return parts


@explorable
def scaling(points: Sequence[Point] = ()) -> Description:
    """Efficiency against GPUs: change the model, the batch and the links.

    `points` are your own measurements, as (ranks, efficiency).
    """
    return partial(draw, points=tuple(points)), {
        "work": Choice("Model", tuple(model.WORKLOADS), "ResNet-50"),
        "gpus": Slider("GPUs", 1, 1024, 128, step=2, log=True),
        "batch": Slider("Batch", 1, 1024, 64, step=2, log=True),
        "per_node": Slider("GPUs per node", 1, 16, 8, step=2, log=True),
        "inside": Choice("Inside a node", tuple(model.INSIDE), "NVLink"),
        "network": Choice("Between nodes", tuple(model.NETWORKS), "10 Gbit/s"),
        "hidden": Slider("May hide", 0, 100, 80, step=5, unit="%"),
        "strong": Toggle("The batch is shared by all GPUs", False),
    }
