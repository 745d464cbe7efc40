"""The picture of a distribution strategy."""

from course.core import words
from course.drawing import palette, svg, touch
from course.explore.controls import FINE, Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import strategies as model

LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
CENTRE_Y, BOX = 96, 74  # the upper edge of the centre, and the height of a box
BAR, BAR_APART = 14, 24


def draw(
    strategy: str, devices: int, mib: float, optimizer: str, bandwidth: float, dies: str
) -> svg.Picture:
    """Draw one state of the explorable; `mib` in MiB, `bandwidth` in GB/s."""
    plans = {
        name: model.plan(name, devices, mib, optimizer, bandwidth, dies)
        for name in model.STRATEGIES
    }
    now, count = plans[strategy], words.plural(devices, "device")
    centre = " and a centre" if now.centre else ""
    return svg.card(
        _bars_y(now) + 18 + len(plans) * BAR_APART,
        _title(now, dies),
        [*_processes(now), *_traffic(now), *_boxes(now), *_facts(now), *_bars(plans, now)],
        subtitle=f"{count}, {_size(mib)} of weights, {optimizer}",
        alt=f"{count}{centre}: boxes with weights, gradients and optimizer state; arrows show what "
        "moves. Below, the four strategies compared: the time of the transfer and the memory of a "
        "device.",
        touch=f"Click {_clickable(now)} to let it die, and again to bring it back.",
    )


def _clickable(now: model.Placement) -> str:
    """Name the places that can be clicked to let them die."""
    last = "the last device" if len(now.devices) > 1 else "the device"
    return f"{last} or the {now.centre.name}" if now.centre else last


def _device_y(now: model.Placement) -> float:
    """The upper edge of the devices: below the centre if there is one."""
    return 222 if now.centre else 112


def _bars_y(now: model.Placement) -> float:
    """The upper edge of the comparison, below the facts."""
    return _device_y(now) + 236


def _title(now: model.Placement, dies: str) -> str:
    count = len(now.devices)
    if dies == model.CENTRE and now.centre is None:
        return f"{now.strategy} has no centre that could die"
    if dies != model.NOTHING:
        return f"{now.strategy} when {dies} dies: {_survivors(now.survivors, count)}"
    if now.busiest == 0:
        return f"{now.strategy} on one device: nothing moves"
    where = f"Variables on the {now.centre.name}" if now.centre else "Mirrors on every device"
    return f"{where}: the busiest link needs {_time(now.transfer_ms)} per step"


def _survivors(survivors: int, count: int) -> str:
    if survivors == 0:
        return "everything stops"
    verb = "goes" if survivors == 1 else "go"
    return f"{words.plural(survivors, 'device')} of {count} {verb} on"


def _size(mib: float) -> str:
    return words.size(mib * words.MIB, digits=3)


def _time(ms: float) -> str:
    return words.duration(ms / 1000, digits=2)


def _slot(count: int) -> tuple[float, float]:
    """The width of a device's box, and how far apart the left edges of two boxes are."""
    apart = (RIGHT - LEFT) / count
    return min(128, apart - 22), apart


def _x(i: int, count: int) -> float:
    """The left edge of device i's box."""
    width, apart = _slot(count)
    return LEFT + apart * i + (apart - width) / 2


def _centre_x() -> float:
    return svg.WIDTH / 2 - 64


def _fill(i: int | None, place: model.Holder, what: str) -> str:
    colour = palette.MUTED if i is None else palette.rank_colour(i)
    shade = {
        "weights": colour,
        "gradients": palette.tint(colour, 0.6),
        "state": palette.mix(colour, palette.INK, 0.55),
    }
    return shade[what] if place.fate == "goes on" else palette.tint(shade[what], 0.75)


def _boxes(now: model.Placement) -> list[str]:
    """Draw the legend, and the centre and the devices with what they hold."""
    blue = palette.rank_colour(0)
    marks = [
        ("solid", blue, "weights"),
        ("solid", palette.tint(blue, 0.6), "gradients"),
        ("solid", palette.mix(blue, palette.INK, 0.55), "optimizer's"),
    ]
    parts = [svg.legend(LEFT, 80, marks)]
    width, _ = _slot(len(now.devices))
    for i, place in enumerate(now.devices):
        death = _death(place, model.WORKER) if place is now.devices[-1] else {}
        parts += _box(_x(i, len(now.devices)), _device_y(now), width, place, i, death)
    if now.centre:
        death = _death(now.centre, model.CENTRE)
        parts += _box(_centre_x(), CENTRE_Y, 128, now.centre, None, death)
    return parts


def _death(place: model.Holder, dies: str) -> dict[str, str]:
    """The button of a place: it sets `dies`, or if the place is dead, brings it back."""
    if place.fate == "dead":
        return touch.button("dies", model.NOTHING, "Bring it back")
    return touch.button("dies", dies, f"Let {dies} die")


def _box(
    x: float, y: float, width: float, place: model.Holder, i: int | None, death: dict[str, str]
) -> list[str]:
    """Draw a place: its name, its fate, and bars for what it holds."""
    edge, ink = palette.MUTED if i is None else palette.rank_colour(i), palette.INK
    if place.fate == "dead":
        edge = ink = palette.ALARM
    label, middle = _name(place, i, width), x + width / 2
    parts = [
        svg.rect(x, y, width, BOX, palette.CARD, stroke=edge, stroke_width=1.5, rx=5, **death),
        svg.text(middle, y + 17, label, anchor="middle", bold=True, colour=ink),
    ]
    long = (width - 16) / 2  # the bar of all weights; Adam keeps twice as much
    for row, what in enumerate(("weights", "gradients", "state")):
        held = getattr(place, what)
        mark = (x + 8, y + 26 + 15 * row, long * held / place.weights, 10, _fill(i, place, what))
        parts.append(svg.rect(*mark, tip=f"{what}: {_size(held)}"))
    return parts


def _name(place: model.Holder, i: int | None, width: float) -> str:
    """The name of device i (or of the centre) and its fate, as far as there is room."""
    if place.fate == "dead":
        return "dead"
    name = place.name.capitalize()
    if i is not None:
        name = f"Device {i}" if width > 70 else str(i)
    return f"{name} stops" if place.fate == "stops" and width > 100 else name


def _processes(now: model.Placement) -> list[str]:
    """Draw a dashed frame around each process."""

    def frame(x: float, y: float, width: float, height: float) -> str:
        edge = {"stroke": palette.MUTED, "stroke_dasharray": "4 4"}
        return svg.rect(x, y, width, height, "none", **edge, rx=8)

    note = {"colour": palette.MUTED, "anchor": "end"}
    if now.strategy in (model.MIRRORED, model.CENTRAL):
        y = CENTRE_Y - 8 if now.centre else _device_y(now) - 12
        bottom = _device_y(now) + BOX + 30
        label = svg.text(RIGHT, 80, "dashed: one process", **note)
        return [frame(LEFT, y, RIGHT - LEFT, bottom - y), label]
    width, _ = _slot(len(now.devices))
    parts = [svg.text(RIGHT, 80, "dashed: a process", **note)]
    for i in range(len(now.devices)):
        parts.append(frame(_x(i, len(now.devices)) - 6, _device_y(now) - 7, width + 12, BOX + 14))
    if now.centre:
        parts.append(frame(_centre_x() - 6, CENTRE_Y - 7, 140, BOX + 14))
    return parts


def _traffic(now: model.Placement) -> list[str]:
    """Draw arrows for what moves in a step, but not at places that are dead or have stopped."""
    count = len(now.devices)
    width, _ = _slot(count)
    if now.centre is None:
        return _ring(now, width) if now.survivors == count > 1 else []
    parts = []
    for i, place in enumerate(now.devices):
        if place.fate != "goes on" or now.centre.fate != "goes on":
            continue
        x, at = _x(i, count) + width / 2, svg.WIDTH / 2 + (i - (count - 1) / 2) * 13
        low, height, colour = _device_y(now) - 2, CENTRE_Y + BOX + 3, palette.rank_colour(i)
        pale = palette.tint(colour, 0.45)
        parts.append(svg.arrow(x + 5, low, at + 4, height, colour=pale, width=1.6))
        parts.append(svg.arrow(at - 4, height, x - 5, low, colour=colour, width=1.6))
    return parts


def _ring(now: model.Placement, width: float) -> list[str]:
    """Draw the all-reduce's ring, from each device to the next and from the last to the first."""
    count, y = len(now.devices), _device_y(now) + BOX / 2
    parts = []
    for i in range(count - 1):
        colour = palette.tint(palette.rank_colour(i), 0.2)
        left, right = _x(i, count) + width + 1, _x(i + 1, count) - 1
        parts.append(svg.arrow(left, y, right, y, colour=colour, width=1.6))
    last, first = _x(count - 1, count) + width / 2, _x(0, count) + width / 2
    colour, bottom = palette.tint(palette.rank_colour(count - 1), 0.2), _device_y(now) + BOX
    corners = [(last, bottom), (last, bottom + 18), (first, bottom + 18)]
    return [
        *parts,
        svg.polyline(corners, colour=colour, width=1.6),
        svg.arrow(first, bottom + 18, first, bottom + 1, colour=colour, width=1.6),
    ]


def _facts(now: model.Placement) -> list[str]:
    """Write where variables are, what a step moves, and how many updates it makes."""
    y = _device_y(now) + 132
    rows = {"Variables": _variables(now), "A step moves": _moves(now), "Updates": _updates(now)}
    parts = []
    for i, (name, fact) in enumerate(rows.items()):
        parts.append(svg.text(LEFT, y + 22 * i, name, bold=True))
        parts.append(svg.text(LEFT + 110, y + 22 * i, fact))
    return parts


def _variables(now: model.Placement) -> str:
    if now.strategy == model.SERVER:
        return "on the server; workers hold copies that grow stale"
    if now.strategy == model.CENTRAL:
        return "once, on the host; each step, devices borrow a copy"
    count = len(now.devices)
    return f"{count} equal copies, one per device" if count > 1 else "on the device"


def _moves(now: model.Placement) -> str:
    if now.busiest == 0:
        return "nothing"
    what = "gradients up, weights down" if now.centre else "gradients, round the ring"
    device, link = _size(now.sent), _size(now.busiest)
    return f"{what}: {device} each way at a device, {link} over the busiest link"


def _updates(now: model.Placement) -> str:
    if now.strategy == model.SERVER:
        return f"{now.updates} by one worker's gradients each, at any time"
    count = len(now.devices)
    return f"1, by the gradients of all {words.plural(count, 'replica')}" if count > 1 else "1"


def _bars(plans: dict[str, model.Placement], now: model.Placement) -> list[str]:
    """Compare the four strategies: time on the busiest link, memory per device."""
    y = _bars_y(now)
    times = {name: plan.transfer_ms for name, plan in plans.items()}
    sizes = {name: plan.memory for name, plan in plans.items()}
    columns = (
        (LEFT + 160, 210, "busiest link, per step", times, _time),
        (LEFT + 450, 150, "memory per device", sizes, _size),
    )
    parts = [svg.line(LEFT, y - 32, RIGHT, y - 32)]
    parts += [svg.text(x, y - 8, head, colour=palette.MUTED) for x, _, head, _, _ in columns]
    for row, name in enumerate(plans):
        bar_y, chosen = y + 6 + row * BAR_APART, name == now.strategy
        parts.append(svg.text(LEFT, bar_y + 11, name, bold=chosen))
        colour = palette.rank_colour(0) if chosen else palette.tint(palette.INK, 0.72)
        for x, room, _, values, label in columns:
            width = room * values[name] / (max(values.values()) or 1)
            amount = label(values[name]) if values[name] else "nothing"
            parts.append(svg.rect(x, bar_y, width, BAR, colour))
            parts.append(svg.text(x + width + 6, bar_y + 11, amount))
    return parts


@explorable
def strategies() -> Description:
    """A strategy on that many devices: where variables live, what moves, what a death leaves."""
    return draw, {
        "strategy": Choice("Strategy", model.STRATEGIES, model.MIRRORED),
        "devices": Slider("Devices", 1, 8, 4),
        "mib": Slider("Weights", 10, 10_000, 420, step=10**0.125, unit="MiB", log=True),
        "optimizer": Choice("Optimizer", tuple(model.OPTIMIZERS), "Adam"),
        "bandwidth": Slider("Link, each way", 0.1, 300, 25, step=FINE, unit="GB/s", log=True),
        "dies": Choice("What dies", model.DEATHS, model.NOTHING),
    }
