"""The picture of tensor fusion, and the explorable made of it."""

import math
from collections.abc import Callable, Sequence

from course.drawing import palette, svg
from course.explore.models import tensor_fusion as model
from course.explore.widget import Explorable, Slider, Toggle

BLUE = palette.rank_colour(0)
LEFT, RIGHT = 116, svg.WIDTH - svg.MARGIN
LANE = 30  # pixels high
READY_Y, CYCLE_Y, NETWORK_Y, CURVE_Y = 106, 156, 196, 328
CURVE_HEIGHT, CURVE_WIDTH = 104, 274
THRESHOLDS = tuple(0.01 * 2 ** (i / 2) for i in range(28))  # MiB, 0.01 … 128
CYCLES = tuple(0.1 * 2 ** (i / 3) for i in range(28))  # ms, 0.1 … 51
Point = tuple[float, float]


def tensor_fusion(**values: object) -> Explorable:
    """Tensors that become ready one after another: see the messages, the waiting and the time it all takes.

    `values` are the controls' first values, such as ``cycle=9``; a value that a control cannot take is a `CourseError`.
    """
    controls = {
        "tensors": Slider("Tensors", 1, 400, 100, step=10**0.1, log=True),
        "size": Slider("Size of each", 4, 4096, 256, step=2**0.5, unit="KiB", log=True),
        "threshold": Slider("Fusion threshold", 0.01, 128, 128, step=2**0.5, unit="MiB", log=True),
        "cycle": Slider("Cycle time", 0.1, 50, 1, step=10**0.1, unit="ms", log=True),
        "latency": Slider("Start of a message", 0, 2, 0.5, step=0.05, unit="ms"),
        "bandwidth": Slider("Network", 0.1, 300, 10, step=10**0.1, unit="GB/s", log=True),
        "hurry": Toggle("Begin a cycle when the program waits", False),
    }
    return Explorable(draw, **controls).at(**values)


def draw(
    tensors: int,
    size: float,
    threshold: float,
    cycle: float,
    latency: float,
    bandwidth: float,
    hurry: bool = False,
) -> svg.Picture:
    """One state of the explorable; `size` in KiB, `threshold` in MiB, `cycle` and `latency` in ms."""

    def plan(threshold: float, cycle: float) -> model.Plan:
        network = {"gb_per_s": bandwidth, "latency_ms": latency, "hurry": hurry}
        return model.plan(tensors, size, threshold, cycle, **network)

    now = plan(threshold, cycle)
    curves = (
        (
            "fusion threshold, MiB",
            [(t, plan(t, cycle).done_ms) for t in THRESHOLDS],
            (threshold, now.done_ms),
        ),
        ("cycle time, ms", [(c, plan(threshold, c).done_ms) for c in CYCLES], (cycle, now.done_ms)),
    )
    total = svg.significant(tensors * size / model.KIB_PER_MIB)
    what = f"{_many(tensors, 'tensor')} of {svg.significant(size, 3)} KiB, {total} MiB on 4 ranks"
    told = f"{_many(len(now.messages), 'message')}; a tensor waits {_ms(now.wait_ms)} on average before it travels"
    return svg.card(
        CURVE_Y + CURVE_HEIGHT + 58,
        _title(now, 0.0 if hurry else cycle, latency),
        [
            *_lanes(now),
            *(_curve(LEFT + i * (CURVE_WIDTH + 68), *curve) for i, curve in enumerate(curves)),
        ],
        subtitle=f"{what}: {told}",
        alt=f"Three lanes over time: tensors become ready, cycles begin, messages travel. All is done after "
        f"{_ms(now.done_ms)}. Below, that time against the fusion threshold and against the cycle time.",
    )


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {
        "fusion.svg": tensor_fusion().picture,
        "fusion_off.svg": tensor_fusion(threshold=0.01).picture,
    }


def _title(now: model.Plan, cycle: float, latency: float) -> str:
    step = f"{_ms(now.done_ms)}, of which backward {_ms(now.compute_ms)}"
    starts, late = latency * len(now.messages), now.done_ms - now.compute_ms
    if late <= 0.15 * now.compute_ms:
        return f"Nearly all of it beside the computation: {step}"
    if len(now.messages) > 1 and starts > 0.5 * now.comm_ms and now.comm_ms > now.compute_ms:
        return f"The starts of {len(now.messages)} messages cost {_ms(starts)}: {step}"
    if cycle > 0.3 * now.compute_ms and cycle > now.messages[-1].end_ms - now.messages[-1].start_ms:
        return f"Tensors wait for the next cycle: {step}"
    return (
        f"The network is the bottleneck: {step}"
        if now.comm_ms > now.compute_ms
        else f"The last message shows: {step}"
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + "s" * (count != 1)


def _ms(value: float) -> str:
    return f"{svg.significant(value, 2 if value < 100 else 3)} ms"


def _lanes(now: model.Plan) -> list[str]:
    top = _round_up(now.done_ms)
    bottom = NETWORK_Y + LANE + 12

    def x(ms: float) -> float:
        return LEFT + ms * (RIGHT - LEFT) / top

    marks = (
        ("solid", BLUE, "computing"),
        ("dot", palette.INK, "cycle begins"),
        ("hatched", BLUE, "all-reduce"),
    )
    wait = svg.rect(
        x(now.compute_ms),
        READY_Y,
        x(now.done_ms) - x(now.compute_ms),
        LANE,
        palette.WAIT,
        tip="waits",
    )
    parts = [
        svg.legend(LEFT, 88, [*marks, ("solid", palette.WAIT, "waiting")]),
        svg.axis(LEFT, bottom, RIGHT - LEFT, top, "ms since the backward pass began", rise=bottom - READY_Y + 6),
        *(svg.text(LEFT - 14, y, words, anchor="end") for y, words in (
            (READY_Y + 19, "Gradients"), (CYCLE_Y + 16, "Cycles"), (NETWORK_Y + 19, "Messages"))),
        wait,
    ]  # fmt: skip
    for number, message in enumerate(now.messages):
        parts += _message(now, message, number, x)
    return parts + [svg.circle(x(ms), CYCLE_Y + 12, 2.5, palette.INK) for ms in now.cycles_ms]


def _message(
    now: model.Plan, message: model.Message, number: int, x: Callable[[float], float]
) -> list[str]:
    """The tensors of one message, the message, and the ribbon between them."""
    shade = palette.tint(BLUE, 0.0 if number % 2 == 0 else 0.28)
    first = message.tensors[0]
    left, right = x(now.ready_ms[first - 1] if first else 0.0), x(now.ready_ms[message.tensors[-1]])
    start, end = x(message.start_ms), x(message.end_ms)
    ribbon = [(left, READY_Y + LANE), (right, READY_Y + LANE), (end, NETWORK_Y), (start, NETWORK_Y)]
    many = _many(len(message.tensors), "tensor")
    sent = f"message {number + 1}: {many}, {svg.significant(message.mib)} MiB, {_ms(message.end_ms - message.start_ms)}"
    return [
        svg.polygon(ribbon, shade, fill_opacity=0.16),
        svg.rect(left, READY_Y, right - left - min(1, (right - left) / 4), LANE, shade, tip=many),
        svg.hatched(
            start, NETWORK_Y, end - start - min(1, (end - start) / 4), LANE, shade, tip=sent
        ),
    ]


def _curve(left: float, unit: str, curve: Sequence[Point], now: Point) -> str:
    """How long it all takes against one of the two settings, with where we are."""
    top, bottom = _round_up(max(ms for _, ms in [*curve, now])), CURVE_Y + CURVE_HEIGHT
    low, high = curve[0][0], curve[-1][0]

    def at(value: float, ms: float) -> Point:
        share = math.log(value / low) / math.log(high / low)
        return left + min(max(share, 0), 1) * CURVE_WIDTH, bottom - CURVE_HEIGHT * ms / top

    parts = [svg.text(left, CURVE_Y - 16, f"Until all is reduced: {_ms(now[1])}")]
    for value in svg.ticks(top, 4):
        y = at(low, value)[1]
        words = svg.text(
            left - 10, y + 4, svg.significant(value, 3), colour=palette.MUTED, anchor="end"
        )
        parts += [svg.line(left, y, left + CURVE_WIDTH, y), words]
    for power in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high)) + 1):
        x = at(10.0**power, 0)[0]
        words = svg.text(
            x, bottom + 17, svg.significant(10.0**power, 1), colour=palette.MUTED, anchor="middle"
        )
        parts += [svg.line(x, bottom, x, bottom + 4), words]
    return "".join([
        *parts,
        svg.text(left + CURVE_WIDTH, bottom + 33, unit, colour=palette.MUTED, anchor="end"),
        svg.line(at(*now)[0], bottom, *at(*now), colour=BLUE, dash="2 3"),
        svg.polyline([at(*point) for point in curve], colour=BLUE),
        svg.circle(*at(*now), 4, BLUE),
    ])  # fmt: skip


def _round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 × a power of ten: an axis that stays while a control moves a little."""
    power = 10 ** math.floor(math.log10(value))
    return next(
        power * factor
        for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
        if power * factor >= value * 0.9999
    )
