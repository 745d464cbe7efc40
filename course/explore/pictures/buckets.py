"""The picture of a bucket schedule, and the explorable made of it."""

import math

from course.drawing import palette, svg
from course.explore.models import buckets as model
from course.explore.widget import Choice, Explorable, Slider, Toggle

BLUE = palette.rank_colour(0)
LEFT = 116  # where the lanes' time begins, in pixels
RIGHT = svg.WIDTH - svg.MARGIN
LANE = 34  # pixels high
COMPUTE_Y, NETWORK_Y, CURVE_Y = 106, 184, 334
CURVE_HEIGHT = 120


def buckets(**values: object) -> Explorable:
    """DDP's buckets on a time line: change the model, the bucket cap and the network, see what is left to wait for.

    `values` are the controls' first values, such as ``cap=5``; a value that a control cannot take is a `CourseError`.
    """
    controls = {
        "layers": Choice("Model", tuple(model.MODELS), "BERT-base"),
        "cap": Slider(
            "Bucket cap", 0.5, 1024, model.DEFAULT_CAP_MIB, step=2**0.25, unit="MiB", log=True
        ),
        "bandwidth": Slider("Network", 0.1, 300, 25, step=10**0.1, unit="GB/s", log=True),
        "ranks": Slider("Ranks", 1, 64, 4),
        "latency": Slider("Start of an all-reduce", 0, 2, 0.2, step=0.05, unit="ms"),
        "overlap": Toggle("Overlap with backward", True),
    }
    return Explorable(draw, **controls).at(**values)


def draw(
    layers: str, cap: float, bandwidth: float, ranks: int, latency: float, overlap: bool
) -> svg.Picture:
    """One state of the explorable; `cap` in MiB, `bandwidth` in GB/s, `latency` in ms."""
    network = {"gb_per_s": bandwidth, "ranks": ranks, "latency_ms": latency, "overlap": overlap}
    plan = model.schedule(model.MODELS[layers], cap, **network)
    curve = model.by_cap(model.MODELS[layers], **network)
    now = (cap, plan.done_ms)
    best = model.best_cap(curve, now)
    size = f"{layers}: {sum(layer.mib for layer in plan.layers):.0f} MiB of gradients"
    many = "1 bucket" if len(plan.buckets) == 1 else f"{len(plan.buckets)} buckets"
    hidden = f"{size} in {many}; {100 * plan.overlap:.0f} % of the communication is hidden"
    return svg.card(
        CURVE_Y + CURVE_HEIGHT + 58,
        _title(plan, ranks, overlap, best[1]),
        [*_lanes(plan), *_curve(curve, now, best)],
        subtitle=hidden if ranks > 1 else f"{size} that nobody else needs",
        alt=f"Two lanes over time. Backward: {_ms(plan.compute_ms)}. All-reduce: {many}, {_ms(plan.comm_ms)} in all. "
        f"Below, the time until all is averaged against the bucket cap: now {_at(now)}, best {_at(best)}.",
    )


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {"buckets.svg": buckets().picture, "buckets_off.svg": buckets(overlap=False).picture}


def _title(plan: model.Schedule, ranks: int, overlap: bool, best_ms: float) -> str:
    step = f"{_ms(plan.done_ms)}, of which {_ms(plan.exposed_ms)} waiting"
    if ranks == 1:
        return f"One rank has nobody to talk to: {_ms(plan.done_ms)}, all of it computing"
    if not overlap:
        return f"Without overlap: {step}"
    if plan.done_ms > best_ms * 1.03:
        return f"Too {'few' if _starved(plan) else 'many'} buckets: {step}"
    if plan.exposed_ms <= 0.1 * plan.compute_ms:
        return f"Communication hidden: {step}"
    if plan.comm_ms > plan.compute_ms:
        return f"The network is the bottleneck: {step}"
    return f"Only the last bucket cannot hide: {step}"


def _starved(plan: model.Schedule) -> bool:
    """Whether the network idles while it waits for buckets to fill, rather than lagging behind."""
    idle = plan.done_ms - plan.comm_ms
    return idle > plan.exposed_ms or len(plan.buckets) == 1


def _ms(value: float) -> str:
    return f"{svg.significant(value, 2 if value < 100 else 3)} ms"


def _at(point: tuple[float, float]) -> str:
    """A (cap, ms) for a reader."""
    return f"{_ms(point[1])} at {svg.significant(point[0])} MiB"


def _lanes(plan: model.Schedule) -> list[str]:
    top = _round_up(plan.done_ms)
    scale = (RIGHT - LEFT) / top

    def x(ms: float) -> float:
        return LEFT + ms * scale

    bottom = NETWORK_Y + LANE + 14
    marks = (
        ("solid", BLUE, "computing"),
        ("hatched", BLUE, "all-reduce"),
        ("solid", palette.WAIT, "waiting"),
    )
    wait_x, wait_width = x(plan.compute_ms), plan.exposed_ms * scale
    waiting = f"waits {_ms(plan.exposed_ms)}"
    parts = [
        svg.legend(LEFT, 88, marks),
        svg.axis(
            LEFT,
            bottom,
            RIGHT - LEFT,
            top,
            "ms since the backward pass began",
            rise=bottom - COMPUTE_Y + 6,
        ),
        svg.text(LEFT - 14, COMPUTE_Y + 21, "Backward", anchor="end"),
        svg.text(LEFT - 14, NETWORK_Y + 21, "All-reduce", anchor="end"),
        svg.rect(wait_x, COMPUTE_Y, wait_width, LANE, palette.WAIT, tip=waiting),
    ]
    if svg.text_width(waiting) + 8 < wait_width:
        parts.append(svg.text(wait_x + wait_width / 2, COMPUTE_Y + 21, waiting, anchor="middle"))
    for number, bucket in enumerate(plan.buckets):
        parts += _bucket(plan, bucket, number, x)
    return parts


def _bucket(plan: model.Schedule, bucket: model.Bucket, number: int, x) -> list[str]:
    """The layers of one bucket, its all-reduce, and the ribbon between them."""
    shade = palette.tint(BLUE, 0.0 if number % 2 == 0 else 0.28)
    begin = plan.ends_ms[bucket.layers[0]] - plan.layers[bucket.layers[0]].backward_ms
    left, right, start, end = (
        x(ms) for ms in (begin, bucket.ready_ms, bucket.start_ms, bucket.end_ms)
    )
    ribbon = [
        (left, COMPUTE_Y + LANE),
        (right, COMPUTE_Y + LANE),
        (end, NETWORK_Y),
        (start, NETWORK_Y),
    ]
    sent = f"bucket {number + 1}: {svg.significant(bucket.mib)} MiB, {_ms(bucket.end_ms - bucket.start_ms)}"
    parts = [svg.polygon(ribbon, shade, fill_opacity=0.16)] if end > start else []
    for i in bucket.layers:
        layer = plan.layers[i]
        from_x, to_x = x(plan.ends_ms[i] - layer.backward_ms), x(plan.ends_ms[i])
        tip = f"{layer.name}: {svg.significant(layer.mib)} MiB, {_ms(layer.backward_ms)}"
        parts.append(
            svg.rect(from_x, COMPUTE_Y, to_x - from_x - _hair(to_x - from_x), LANE, shade, tip=tip)
        )
    if end > start:
        parts.append(
            svg.hatched(start, NETWORK_Y, end - start - _hair(end - start), LANE, shade, tip=sent)
        )
    longest = max(bucket.layers, key=lambda i: plan.layers[i].backward_ms)
    parts += _label(
        x(plan.ends_ms[longest] - plan.layers[longest].backward_ms),
        x(plan.ends_ms[longest]),
        COMPUTE_Y,
        number,
    )
    return parts + _label(start, end, NETWORK_Y, number, ground=palette.CARD)


def _hair(width: float) -> float:
    """What a mark leaves free beside its neighbour, unless that would be all there is of it."""
    return min(1, width / 4)


def _label(left: float, right: float, y: float, number: int, ground: str = "") -> list[str]:
    """A bucket's number between `left` and `right`, on a `ground` of its own if one is given; nothing without room."""
    words, middle = str(number + 1), (left + right) / 2
    width = 6 + 7.5 * len(words)
    if width + 2 > right - left:
        return []
    box = [svg.rect(middle - width / 2, y + 9, width, 16, ground, rx=3)] if ground else []
    return [
        *box,
        svg.text(
            middle,
            y + 21,
            words,
            anchor="middle",
            bold=True,
            colour=palette.INK if ground else palette.CARD,
        ),
    ]


def _curve(
    curve: list[tuple[float, float]], now: tuple[float, float], best: tuple[float, float]
) -> list[str]:
    """How long it all takes against the bucket cap, with where we are and where it is shortest."""
    top = _round_up(max(ms for _, ms in [*curve, now]))
    low, high = curve[0][0], curve[-1][0]

    def at(cap: float, ms: float) -> tuple[float, float]:
        share = math.log(cap / low) / math.log(high / low)
        return LEFT + share * (RIGHT - LEFT), CURVE_Y + CURVE_HEIGHT * (1 - ms / top)

    bottom = CURVE_Y + CURVE_HEIGHT
    entries = [
        (mark, BLUE, f"{name}: {_ms(ms)} at {svg.significant(cap)} MiB")
        for mark, name, (cap, ms) in (("dot", "now", now), ("ring", "best", best))
    ]
    parts = [
        svg.text(LEFT - 14, CURVE_Y - 22, "Until done, ms", anchor="end"),
        svg.legend(LEFT, CURVE_Y - 22, entries),
    ]
    for value in svg.ticks(top, 4):
        y = at(low, value)[1]
        parts += [
            svg.line(LEFT, y, RIGHT, y),
            svg.text(
                LEFT - 10, y + 4, svg.significant(value, 3), colour=palette.MUTED, anchor="end"
            ),
        ]
    for cap in (0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000):
        x = at(cap, 0)[0]
        parts += [
            svg.line(x, bottom, x, bottom + 4),
            svg.text(
                x, bottom + 17, svg.significant(cap, 3), colour=palette.MUTED, anchor="middle"
            ),
        ]
    parts += [
        svg.text(RIGHT, bottom + 33, "bucket cap, MiB", colour=palette.MUTED, anchor="end"),
        svg.line(at(*now)[0], bottom, *at(*now), colour=BLUE, dash="2 3"),
        svg.polyline([at(cap, ms) for cap, ms in curve], colour=BLUE),
        svg.circle(*at(*best), 6, palette.CARD, stroke=BLUE, stroke_width=2),
        svg.circle(*at(*now), 4, BLUE),
    ]  # fmt: skip
    return parts


def _round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 × a power of ten: an axis that stays while a control moves a little."""
    power = 10 ** math.floor(math.log10(value))
    return next(
        power * factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if power * factor >= value
    )
