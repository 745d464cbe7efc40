"""The picture of a distribution strategy, and the explorable made of it."""

from course.drawing import palette, svg
from course.explore.models import strategies as model
from course.explore.widget import Choice, Explorable, Slider

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
CENTRE_Y, BOX = 96, 74  # the upper edge of the centre, and the height of a box
BAR, BAR_APART = 14, 24


def strategies(**values: object) -> Explorable:
    """A strategy on so many devices: where the variables live, what moves, and what happens when a worker dies.

    `values` are the controls' first values, such as ``devices=8``; one that a control cannot take is a `CourseError`.
    """
    controls = {
        "strategy": Choice("Strategy", model.STRATEGIES, model.MIRRORED),
        "devices": Slider("Devices", 1, 8, 4),
        "mib": Slider("Weights", 10, 10_000, 420, step=10**0.125, unit="MiB", log=True),
        "optimizer": Choice("Optimizer", tuple(model.OPTIMIZERS), "Adam"),
        "bandwidth": Slider("Link, each way", 0.1, 300, 25, step=10**0.1, unit="GB/s", log=True),
        "dies": Choice("What dies", model.DEATHS, model.NOTHING),
    }
    return Explorable(draw, **controls).at(**values)


def draw(
    strategy: str, devices: int, mib: float, optimizer: str, bandwidth: float, dies: str
) -> svg.Picture:
    """One state of the explorable; `mib` in MiB, `bandwidth` in GB/s."""
    plans = {
        name: model.plan(name, devices, mib, optimizer, bandwidth, dies)
        for name in model.STRATEGIES
    }
    now = plans[strategy]
    return svg.card(
        _bars_y(now) + 18 + len(plans) * BAR_APART,
        _title(now, dies),
        [*_processes(now), *_traffic(now), *_boxes(now), *_facts(now), *_bars(plans, now)],
        subtitle=f"{_many(devices, 'device')}, {_size(mib)} of weights, {optimizer}",
        alt=f"{_many(devices, 'device')}{' and a centre' if now.centre else ''}: boxes with weights, gradients and "
        f"optimizer state; arrows show what moves. Below, the four strategies compared: the time of the transfer and "
        f"the memory of a device.",
    )


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    short = ("mirrored", "central", "workers", "server")
    return {
        f"strategies_{name}.svg": strategies(strategy=strategy).picture
        for name, strategy in zip(short, model.STRATEGIES, strict=True)
    }


def _device_y(now: model.Plan) -> float:
    """The upper edge of the devices: below the centre if there is one."""
    return 222 if now.centre else 112


def _bars_y(now: model.Plan) -> float:
    """The upper edge of the comparison, which stands below the facts."""
    return _device_y(now) + 236


def _title(now: model.Plan, dies: str) -> str:
    count = len(now.devices)
    if dies == model.CENTRE and now.centre is None:
        return f"{now.strategy} has no centre that could die"
    if dies != model.NOTHING:
        went = f"{_many(now.survivors, 'device')} of {count} go{'es' * (now.survivors == 1)} on"
        return f"{now.strategy} when {dies} dies: {went if now.survivors else 'everything stops'}"
    if now.busiest == 0:
        return f"{now.strategy} on one device: nothing moves"
    where = (
        "Mirrors on every device" if now.centre is None else f"Variables on the {now.centre.name}"
    )
    return f"{where}: the busiest link needs {_ms(now.transfer_ms)} a step"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _size(mib: float) -> str:
    return (
        f"{svg.significant(mib / 1024, 3)} GiB" if mib >= 1024 else f"{svg.significant(mib, 3)} MiB"
    )


def _ms(value: float) -> str:
    return (
        f"{svg.significant(value / 1000, 2)} s"
        if value >= 1000
        else f"{svg.significant(value, 2)} ms"
    )


def _slot(count: int) -> tuple[float, float]:
    """The width of a device's box, and how far the boxes are apart from edge to edge."""
    apart = (RIGHT - LEFT) / count
    return min(128, apart - 22), apart


def _x(i: int, count: int) -> float:
    """The left edge of device i's box."""
    width, apart = _slot(count)
    return LEFT + apart * i + (apart - width) / 2


def _centre_x() -> float:
    return svg.WIDTH / 2 - 64


def _fill(i: int | None, place: model.Place, what: str) -> str:
    colour = palette.MUTED if i is None else palette.rank_colour(i)
    shade = {
        "weights": colour,
        "gradients": palette.tint(colour, 0.6),
        "state": palette.mix(colour, palette.INK, 0.55),
    }
    return shade[what] if place.fate == "goes on" else palette.tint(shade[what], 0.75)


def _boxes(now: model.Plan) -> list[str]:
    """The legend, the centre and the devices, with what they hold."""
    blue = palette.rank_colour(0)
    marks = [("solid", blue, "weights"), ("solid", palette.tint(blue, 0.6), "gradients"),
             ("solid", palette.mix(blue, palette.INK, 0.55), "optimizer's")]  # fmt: skip
    parts = [svg.legend(LEFT, 80, marks)]
    width, _ = _slot(len(now.devices))
    for i, place in enumerate(now.devices):
        parts += _box(_x(i, len(now.devices)), _device_y(now), width, place, i)
    if now.centre:
        parts += _box(_centre_x(), CENTRE_Y, 128, now.centre, None)
    return parts


def _box(x: float, y: float, width: float, place: model.Place, i: int | None) -> list[str]:
    """A place: its name, its fate, and bars as long as what it holds."""
    colour = palette.MUTED if i is None else palette.rank_colour(i)
    dead = place.fate == "dead"
    edge = palette.ALARM if dead else colour
    parts = [svg.rect(x, y, width, BOX, palette.CARD, stroke=edge, stroke_width=1.5, rx=5)]
    name = place.name.capitalize() if i is None else (f"Device {i}" if width > 70 else str(i))
    words = {"goes on": name, "stops": f"{name} stops" if width > 100 else name, "dead": "dead"}[
        place.fate
    ]
    parts.append(
        svg.text(
            x + width / 2,
            y + 17,
            words,
            anchor="middle",
            bold=True,
            colour=edge if dead else palette.INK,
        )
    )
    long = (width - 16) / 2  # the bar of all weights; twice as long for Adam's two numbers a weight
    for row, what in enumerate(("weights", "gradients", "state")):
        held = getattr(place, what)
        bar = long * held / place.weights
        parts.append(
            svg.rect(
                x + 8,
                y + 26 + 15 * row,
                bar,
                10,
                _fill(i, place, what),
                tip=f"{what}: {_size(held)}",
            )
        )
    return parts


def _processes(now: model.Plan) -> list[str]:
    """A dashed frame around each process."""

    def frame(x: float, y: float, width: float, height: float, words: str = "") -> list[str]:
        box = svg.rect(
            x, y, width, height, "none", stroke=palette.MUTED, stroke_dasharray="4 4", rx=8
        )
        label = svg.text(x + width - 8, y + height - 7, words, colour=palette.MUTED, anchor="end")
        return [box, label] if words else [box]

    if now.strategy in (model.MIRRORED, model.CENTRAL):
        y = CENTRE_Y - 8 if now.centre else _device_y(now) - 12
        return frame(LEFT, y, RIGHT - LEFT, _device_y(now) + BOX + 34 - y, "one process")
    width, _ = _slot(len(now.devices))
    parts = [svg.text(RIGHT, 80, "dashed: a process", colour=palette.MUTED, anchor="end")]
    for i in range(len(now.devices)):
        parts += frame(_x(i, len(now.devices)) - 6, _device_y(now) - 7, width + 12, BOX + 14)
    return parts + (frame(_centre_x() - 6, CENTRE_Y - 7, 140, BOX + 14) if now.centre else [])


def _traffic(now: model.Plan) -> list[str]:
    """Arrows for what moves in a step; nothing moves to or from the dead, nor among those that stopped."""
    count = len(now.devices)
    width, _ = _slot(count)
    if now.centre is None:
        return _ring(now, width) if now.survivors == count > 1 else []
    parts = []
    for i, place in enumerate(now.devices):
        if place.fate != "goes on" or now.centre.fate != "goes on":
            continue
        x, at = _x(i, count) + width / 2, svg.WIDTH / 2 + (i - (count - 1) / 2) * 13
        low, high, colour = _device_y(now) - 2, CENTRE_Y + BOX + 3, palette.rank_colour(i)
        parts.append(
            svg.arrow(x + 5, low, at + 4, high, colour=palette.tint(colour, 0.45), width=1.6)
        )
        parts.append(svg.arrow(at - 4, high, x - 5, low, colour=colour, width=1.6))
    return parts


def _ring(now: model.Plan, width: float) -> list[str]:
    """The ring of the all-reduce: from each device to the next, and from the last to the first."""
    count, y = len(now.devices), _device_y(now) + BOX / 2
    parts = []
    for i in range(count - 1):
        colour = palette.tint(palette.rank_colour(i), 0.2)
        parts.append(
            svg.arrow(
                _x(i, count) + width + 1, y, _x(i + 1, count) - 1, y, colour=colour, width=1.6
            )
        )
    last, first = _x(count - 1, count) + width / 2, _x(0, count) + width / 2
    colour, low = palette.tint(palette.rank_colour(count - 1), 0.2), _device_y(now) + BOX + 18
    parts += [
        svg.polyline(
            [(last, _device_y(now) + BOX), (last, low), (first, low)], colour=colour, width=1.6
        ),
        svg.arrow(first, low, first, _device_y(now) + BOX + 1, colour=colour, width=1.6),
    ]
    return parts


def _facts(now: model.Plan) -> list[str]:
    """Three facts, in words."""
    count, y = len(now.devices), _device_y(now) + 132
    sets = {
        model.SERVER: "on the server; workers hold copies that grow stale",
        model.CENTRAL: "once, on the host; devices borrow a copy for a step",
    }
    moves = "gradients up, weights down" if now.centre else "gradients, round the ring"
    rows = {
        "Variables": sets.get(now.strategy, f"{count} equal copies, one a device" if count > 1 else "on the device"),
        "A step moves": f"{moves}: {_size(now.sent)} each way at a device, {_size(now.busiest)} over the busiest link",
        "Updates": f"{now.updates} by one worker's gradients each, at any time" if now.strategy == model.SERVER
        else f"1, by the gradients of all {_many(count, 'replica')}" if count > 1 else "1",
    }  # fmt: skip
    if now.busiest == 0:
        rows["A step moves"] = "nothing"
    return [
        part
        for i, (name, words) in enumerate(rows.items())
        for part in (
            svg.text(LEFT, y + 22 * i, name, bold=True),
            svg.text(LEFT + 110, y + 22 * i, words),
        )
    ]


def _bars(plans: dict[str, model.Plan], now: model.Plan) -> list[str]:
    """The four strategies compared: time on the busiest link, memory of a device."""
    columns = ((LEFT + 160, 210, "busiest link, a step", lambda p: p.transfer_ms, _ms),
               (LEFT + 450, 150, "memory of a device", lambda p: p.memory, _size))  # fmt: skip
    parts = [svg.line(LEFT, _bars_y(now) - 32, RIGHT, _bars_y(now) - 32)]
    for x, _, heading, _, _ in columns:
        parts.append(svg.text(x, _bars_y(now) - 8, heading, colour=palette.MUTED))
    for row, (name, plan) in enumerate(plans.items()):
        y = _bars_y(now) + 6 + row * BAR_APART
        parts.append(svg.text(LEFT, y + 11, name, bold=plan is now))
        for x, room, _, value, words in columns:
            top = max(value(each) for each in plans.values()) or 1
            wide = room * value(plan) / top
            parts += [
                svg.rect(
                    x,
                    y,
                    wide,
                    BAR,
                    palette.rank_colour(0) if plan is now else palette.tint(palette.INK, 0.72),
                ),
                svg.text(x + wide + 6, y + 11, words(value(plan)) if value(plan) else "nothing"),
            ]
    return parts
