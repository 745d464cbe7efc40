"""The picture of a bucket schedule."""

import math

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import FINE, Choice, Slider, Toggle
from course.explore.factory import Description, explorable
from course.explore.models import buckets as model
from course.explore.models.backward import Message

BLUE = palette.rank_colour(0)
LEFT = 116  # where the lanes' time begins, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
LANE = 34  # height of a lane, in pixels
COMPUTE_Y, NETWORK_Y, CURVE_Y = 106, 184, 340
BELOW = NETWORK_Y + LANE + 13  # y of the numbers of all-reduces that are too short to hold them
CURVE_HEIGHT = 120


def draw(
    layers: str, cap: float, bandwidth: float, ranks: int, latency: float, overlap: bool
) -> svg.Picture:
    """Draw one state of the explorable; `cap` in MiB, `bandwidth` in GB/s, `latency` in ms."""
    network = {"gb_per_s": bandwidth, "ranks": ranks, "latency_ms": latency, "overlap": overlap}
    plan = model.schedule(model.MODELS[layers], cap, **network)
    curve = model.by_cap(model.MODELS[layers], **network)
    now = (cap, plan.done_ms)
    best = model.best_cap(curve, now)
    size = f"{layers}: {sum(layer.mib for layer in plan.layers):.0f} MiB of gradients"
    count = words.plural(len(plan.messages), "bucket")
    hidden = f"{size} in {count}; {100 * plan.overlap:.0f} % of the communication is hidden"
    return svg.card(
        CURVE_Y + CURVE_HEIGHT + 58,
        _title(plan, ranks, overlap, best[1]),
        [*_lanes(plan), *_curve(curve, now, best)],
        subtitle=hidden if ranks > 1 else f"{size} that nobody else needs",
        alt=f"Two lanes over time. Backward: {words.milliseconds(plan.compute_ms)}. "
        f"All-reduce: {count}, {words.milliseconds(plan.comm_ms)} in all. Below, the time until "
        "all is averaged against the bucket cap: "
        f"now {_point_text(now)}, best {_point_text(best)}.",
    )


def _title(plan: model.BucketedBackward, ranks: int, overlap: bool, best_ms: float) -> str:
    done = words.milliseconds(plan.done_ms)
    step = f"{done}, of which {words.milliseconds(plan.exposed_ms)} waiting"
    if ranks == 1:
        return f"One rank has nobody to talk to: {done}, all of it computing"
    if not overlap:
        return f"Without overlap: {step}"
    if plan.done_ms > best_ms * 1.03:
        return f"Too {'few' if _is_starved(plan) else 'many'} buckets: {step}"
    if plan.exposed_ms <= 0.1 * plan.compute_ms:
        return f"Communication hidden: {step}"
    if plan.comm_ms > plan.compute_ms:
        return f"The network is the bottleneck: {step}"
    return f"Only the last bucket cannot hide: {step}"


def _is_starved(plan: model.BucketedBackward) -> bool:
    """Whether the network idles until buckets are full, rather than lagging behind."""
    idle = plan.done_ms - plan.comm_ms
    return idle > plan.exposed_ms or len(plan.messages) == 1


def _point_text(point: tuple[float, float]) -> str:
    """Format a (cap, ms) for a reader."""
    cap, ms = point
    return f"{words.milliseconds(ms)} at {words.significant(cap)} MiB"


def _lanes(plan: model.BucketedBackward) -> list[str]:
    top = svg.round_up(plan.done_ms)
    scale = (RIGHT - LEFT) / top

    def x(ms: float) -> float:
        return LEFT + ms * scale

    bottom = NETWORK_Y + LANE + 20
    marks = (
        ("solid", BLUE, "computing"),
        ("hatched", BLUE, "all-reduce"),
        ("solid", palette.WAIT, "waiting"),
    )
    wait_x, wait_width = x(plan.compute_ms), plan.exposed_ms * scale
    waiting = f"waits {words.milliseconds(plan.exposed_ms)}"
    unit, rise = "ms since the backward pass began", bottom - COMPUTE_Y + 6
    parts = [
        svg.legend(LEFT, 88, marks),
        svg.axis(LEFT, bottom, RIGHT - LEFT, top, unit, rise=rise),
        svg.text(LEFT - 14, COMPUTE_Y + 21, "Backward", anchor="end"),
        svg.text(LEFT - 14, NETWORK_Y + 21, "All-reduce", anchor="end"),
        svg.rect(wait_x, COMPUTE_Y, wait_width, LANE, palette.WAIT, tip=waiting),
    ]
    if svg.text_width(waiting) + 8 < wait_width:
        parts.append(svg.text(wait_x + wait_width / 2, COMPUTE_Y + 21, waiting, anchor="middle"))
    for number, bucket in enumerate(plan.messages):
        parts += _bucket(plan, bucket, number, x)
    return parts


def _bucket(plan: model.BucketedBackward, bucket: Message, number: int, x) -> list[str]:
    """Draw the layers of one bucket, its all-reduce, and the ribbon between them."""
    shade = palette.tint(BLUE, 0.0 if number % 2 == 0 else 0.28)
    begin = plan.ready_ms[bucket.gradients[0]] - plan.layers[bucket.gradients[0]].backward_ms
    ready = plan.ready_ms[bucket.gradients[-1]]
    left, right, start, end = (x(ms) for ms in (begin, ready, bucket.start_ms, bucket.end_ms))
    ribbon = [
        (left, COMPUTE_Y + LANE),
        (right, COMPUTE_Y + LANE),
        (end, NETWORK_Y),
        (start, NETWORK_Y),
    ]
    parts = [svg.polygon(ribbon, shade, fill_opacity=0.16)] if end > start else []
    for i in bucket.gradients:
        layer = plan.layers[i]
        tip = f"{layer.name}: {_tip(layer.mib, layer.backward_ms)}"
        from_x, to_x = x(plan.ready_ms[i] - layer.backward_ms), x(plan.ready_ms[i])
        width = to_x - from_x - svg.hair(to_x - from_x)
        parts.append(svg.rect(from_x, COMPUTE_Y, width, LANE, shade, tip=tip))
    if end > start:
        tip = f"bucket {number + 1}: {_tip(bucket.mib, bucket.end_ms - bucket.start_ms)}"
        width = end - start - svg.hair(end - start)
        parts.append(svg.hatched(start, NETWORK_Y, width, LANE, shade, tip=tip))
    if _number_width(number) <= right - left:
        parts += _number((left + right) / 2, COMPUTE_Y + 21, number, shade)
    if _number_width(number) <= end - start:
        return parts + _number((start + end) / 2, NETWORK_Y + 21, number, palette.CARD)
    others = [other for other in plan.messages if other is not bucket]
    free = min((_distance_ms(bucket, other) for other in others), default=math.inf) * (x(1) - x(0))
    if end > start and _number_width(number) <= free:
        parts += _number((start + end) / 2, BELOW, number, palette.CARD)
    return parts


def _distance_ms(bucket: Message, other: Message) -> float:
    """The milliseconds between the middles of two all-reduces."""
    return abs(bucket.start_ms + bucket.end_ms - other.start_ms - other.end_ms) / 2


def _tip(mib: float, ms: float) -> str:
    return f"{words.significant(mib)} MiB, {words.milliseconds(ms)}"


def _number_width(number: int) -> float:
    """The width of a bucket's number in pixels."""
    return 4 + 7.5 * svg.columns(str(number + 1))


def _number(middle: float, y: float, number: int, ground: str) -> list[str]:
    """Draw a bucket's number on `ground`."""
    label, width, ink = str(number + 1), _number_width(number) - 2, palette.on(ground)
    box = svg.rect(middle - width / 2, y - 12, width, 16, ground, rx=3)
    return [box, svg.text(middle, y, label, anchor="middle", bold=True, colour=ink)]


def _curve(
    curve: list[tuple[float, float]], now: tuple[float, float], best: tuple[float, float]
) -> list[str]:
    """Draw the total time against the bucket cap, and mark the current and the best cap."""
    top = svg.round_up(max(ms for _, ms in [*curve, now]))
    low, height = curve[0][0], curve[-1][0]

    def at(cap: float, ms: float) -> tuple[float, float]:
        share = math.log(cap / low) / math.log(height / low)
        return LEFT + share * (RIGHT - LEFT), CURVE_Y + CURVE_HEIGHT * (1 - ms / top)

    bottom = CURVE_Y + CURVE_HEIGHT
    entries = [
        ("dot", BLUE, f"now: {_point_text(now)}"),
        ("ring", BLUE, f"best: {_point_text(best)}"),
    ]
    parts = [
        svg.text(LEFT - 14, CURVE_Y - 22, "Until done, ms", anchor="end"),
        svg.legend(LEFT, CURVE_Y - 22, entries),
    ]
    for value in svg.ticks(top, 4):
        y, label = at(low, value)[1], words.significant(value, 3)
        parts.append(svg.line(LEFT, y, RIGHT, y))
        parts.append(svg.text(LEFT - 10, y + 4, label, colour=palette.MUTED, anchor="end"))
    for cap in (0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000):
        x, label = at(cap, 0)[0], words.significant(cap, 3)
        parts.append(svg.line(x, bottom, x, bottom + 4))
        parts.append(svg.text(x, bottom + 17, label, colour=palette.MUTED, anchor="middle"))
    return [
        *parts,
        svg.text(RIGHT, bottom + 33, "bucket cap, MiB", colour=palette.MUTED, anchor="end"),
        svg.line(at(*now)[0], bottom, *at(*now), colour=BLUE, dash="2 3"),
        svg.polyline([at(cap, ms) for cap, ms in curve], colour=BLUE),
        svg.circle(*at(*best), 6, palette.CARD, stroke=BLUE, stroke_width=2),
        svg.circle(*at(*now), 4, BLUE),
    ]


@explorable
def buckets() -> Description:
    """DDP's buckets over time: change the model, the bucket cap and the network.

    See what is left to wait for.
    """
    names, cap = tuple(model.MODELS), model.DEFAULT_CAP_MIB
    return draw, {
        "layers": Choice("Model", names, "BERT-base"),
        "cap": Slider("Bucket cap", 0.5, 1024, cap, step=2**0.25, unit="MiB", log=True),
        "bandwidth": Slider("Network", 0.1, 300, 12.5, step=FINE, unit="GB/s", log=True),
        "ranks": Slider("Ranks", 1, 64, 4),
        "latency": Slider("Start of an all-reduce", 0, 2, 0.5, step=0.05, unit="ms"),
        "overlap": Toggle("Overlap with backward", True),
    }
