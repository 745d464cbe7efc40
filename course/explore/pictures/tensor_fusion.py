"""The picture of tensor fusion."""

import math
from collections.abc import Callable, Sequence

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import FINE, Slider, Toggle
from course.explore.factory import Description, explorable
from course.explore.models import tensor_fusion as model
from course.explore.models.backward import Message

BLUE = palette.rank_colour(0)
LEFT, RIGHT = 116, svg.WIDTH - svg.MARGIN
LANE = 30  # height of a lane, in pixels
READY_Y, CYCLE_Y, NETWORK_Y, CURVE_Y = 106, 156, 196, 328
CURVE_HEIGHT, CURVE_WIDTH = 104, 274
THRESHOLDS = tuple(0.01 * 2 ** (i / 2) for i in range(28))  # MiB, 0.01 … 128
CYCLES = tuple(0.1 * 2 ** (i / 3) for i in range(28))  # ms, 0.1 … 51
Point = tuple[float, float]


def draw(
    tensors: int,
    size: float,
    threshold: float,
    cycle: float,
    latency: float,
    bandwidth: float,
    hurry: bool = False,
) -> svg.Picture:
    """Draw one state; `size` in KiB, `threshold` in MiB, `cycle` and `latency` in ms."""

    def schedule(threshold: float, cycle: float) -> model.FusedBackward:
        network = {"gb_per_s": bandwidth, "latency_ms": latency, "hurry": hurry}
        return model.schedule(tensors, size, threshold, cycle, **network)

    now = schedule(threshold, cycle)
    done = words.milliseconds(now.done_ms)
    thresholds = [(value, schedule(value, cycle).done_ms) for value in THRESHOLDS]
    cycles = [(value, schedule(threshold, value).done_ms) for value in CYCLES]
    total = words.significant(tensors * size / model.KIB_PER_MIB)
    return svg.card(
        CURVE_Y + CURVE_HEIGHT + 58,
        _title(now, 0.0 if hurry else cycle, latency),
        [
            *_lanes(now),
            _curve(LEFT, "fusion threshold, MiB", thresholds, (threshold, now.done_ms)),
            _curve(LEFT + CURVE_WIDTH + 68, "cycle time, ms", cycles, (cycle, now.done_ms)),
        ],
        subtitle=f"{words.plural(tensors, 'tensor')} of {words.significant(size, 3)} KiB, "
        f"{total} MiB on 4 ranks: {words.plural(len(now.messages), 'message')}; "
        f"a tensor waits {words.milliseconds(now.wait_ms)} on average before it travels",
        alt="Three lanes over time: tensors become ready, cycles begin, messages travel. "
        f"All is done after {done}. Below, that time against the fusion threshold and against the "
        "cycle time.",
    )


def _title(now: model.FusedBackward, cycle: float, latency: float) -> str:
    done, backward = words.milliseconds(now.done_ms), words.milliseconds(now.compute_ms)
    step = f"{done}, of which backward {backward}"
    starts, late = latency * len(now.messages), now.done_ms - now.compute_ms
    if late <= 0.15 * now.compute_ms:
        return f"Nearly all of it beside the computation: {step}"
    if len(now.messages) > 1 and starts > 0.5 * now.comm_ms and now.comm_ms > now.compute_ms:
        cost = f"The starts of {len(now.messages)} messages cost {words.milliseconds(starts)}"
        return f"{cost}: {step}"
    last = now.messages[-1]
    if cycle > 0.3 * now.compute_ms and cycle > last.end_ms - last.start_ms:
        return f"Tensors wait for the next cycle: {step}"
    if now.comm_ms > now.compute_ms:
        return f"The network is the bottleneck: {step}"
    return f"The last message shows: {step}"


def _lanes(now: model.FusedBackward) -> list[str]:
    top = svg.round_up(now.done_ms)
    bottom = NETWORK_Y + LANE + 12

    def x(ms: float) -> float:
        return LEFT + ms * (RIGHT - LEFT) / top

    marks = (
        ("solid", BLUE, "computing"),
        ("dot", palette.INK, "cycle begins"),
        ("hatched", BLUE, "all-reduce"),
        ("solid", palette.WAIT, "waiting"),
    )
    unit, rise = "ms since the backward pass began", bottom - READY_Y + 6
    waits = (x(now.compute_ms), READY_Y, x(now.done_ms) - x(now.compute_ms), LANE, palette.WAIT)
    parts = [
        svg.legend(LEFT, 88, marks),
        svg.axis(LEFT, bottom, RIGHT - LEFT, top, unit, rise=rise),
        svg.text(LEFT - 14, READY_Y + 19, "Gradients", anchor="end"),
        svg.text(LEFT - 14, CYCLE_Y + 16, "Cycles", anchor="end"),
        svg.text(LEFT - 14, NETWORK_Y + 19, "Messages", anchor="end"),
        svg.rect(*waits, tip="waits"),
    ]
    for number, message in enumerate(now.messages):
        parts += _message(now, message, number, x)
    return parts + [svg.circle(x(ms), CYCLE_Y + 12, 2.5, palette.INK) for ms in now.cycles_ms]


def _message(
    now: model.FusedBackward, message: Message, number: int, x: Callable[[float], float]
) -> list[str]:
    """Draw the tensors of one message, the message, and the ribbon between them."""
    shade = palette.tint(BLUE, 0.0 if number % 2 == 0 else 0.28)
    first = message.gradients[0]
    left, right = (
        x(now.ready_ms[first - 1] if first else 0.0),
        x(now.ready_ms[message.gradients[-1]]),
    )
    start, end = x(message.start_ms), x(message.end_ms)
    ribbon = [(left, READY_Y + LANE), (right, READY_Y + LANE), (end, NETWORK_Y), (start, NETWORK_Y)]
    count = words.plural(len(message.gradients), "tensor")
    sent = f"{words.significant(message.mib)} MiB"
    took = words.milliseconds(message.end_ms - message.start_ms)
    tip = f"message {number + 1}: {count}, {sent}, {took}"
    width, long = right - left, end - start
    return [
        svg.polygon(ribbon, shade, fill_opacity=0.16),
        svg.rect(left, READY_Y, width - svg.hair(width), LANE, shade, tip=count),
        svg.hatched(start, NETWORK_Y, long - svg.hair(long), LANE, shade, tip=tip),
    ]


def _curve(left: float, unit: str, curve: Sequence[Point], now: Point) -> str:
    """Draw the total time against one of the two settings, and mark the current value."""
    top, bottom = svg.round_up(max(ms for _, ms in [*curve, now])), CURVE_Y + CURVE_HEIGHT
    low, height = curve[0][0], curve[-1][0]

    def at(value: float, ms: float) -> Point:
        share = math.log(value / low) / math.log(height / low)
        return left + min(max(share, 0), 1) * CURVE_WIDTH, bottom - CURVE_HEIGHT * ms / top

    until = f"By {unit.partition(',')[0]}: all is reduced after {words.milliseconds(now[1])}"
    parts, grey = [svg.text(left, CURVE_Y - 16, until)], palette.MUTED
    for value in svg.ticks(top, 4):
        y, label = at(low, value)[1], words.significant(value, 3)
        parts.append(svg.line(left, y, left + CURVE_WIDTH, y))
        parts.append(svg.text(left - 10, y + 4, label, colour=grey, anchor="end"))
    for power in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(height)) + 1):
        x, label = at(10.0**power, 0)[0], words.significant(10.0**power, 1)
        parts.append(svg.line(x, bottom, x, bottom + 4))
        parts.append(svg.text(x, bottom + 17, label, colour=grey, anchor="middle"))
    parts += [
        svg.text(left + CURVE_WIDTH, bottom + 33, unit, colour=grey, anchor="end"),
        svg.line(at(*now)[0], bottom, *at(*now), colour=BLUE, dash="2 3"),
        svg.polyline([at(*point) for point in curve], colour=BLUE),
        svg.circle(*at(*now), 4, BLUE),
    ]
    return "".join(parts)


@explorable
def tensor_fusion() -> Description:
    """Tensors that become ready one after another: the messages, the waiting, the time in all."""
    return draw, {
        "tensors": Slider("Tensors", 1, 400, 100, step=FINE, log=True, whole=True),
        "size": Slider("Size of each", 4, 4096, 256, step=2**0.5, unit="KiB", log=True),
        "threshold": Slider("Fusion threshold", 0.01, 128, 128, step=2**0.5, unit="MiB", log=True),
        "cycle": Slider("Cycle time", 0.1, 50, 1, step=FINE, unit="ms", log=True),
        "latency": Slider("Start of a message", 0, 2, 0.5, step=0.05, unit="ms"),
        "bandwidth": Slider("Network", 0.1, 300, 10, step=FINE, unit="GB/s", log=True),
        "hurry": Toggle("Begin a cycle when the program waits", False),
    }
