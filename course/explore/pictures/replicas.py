"""The picture of what nn.DataParallel holds where and moves in a step, and the explorable made of it."""

from course.drawing import palette, svg
from course.explore.models import replicas as model
from course.explore.widget import Choice, Explorable, Slider

LEFT = 156  # where bars begin, in pixels
LONGEST = svg.WIDTH - svg.MARGIN - LEFT - 72  # of a bar, with room for its number
HELD_Y, HELD_HEIGHT = 106, 168
MOVED_Y, LINK_Y, ROW = 324, 472, 22
SHADES = {"weights": 0.0, "gradients": 0.3, "activations": 0.55, "outputs": 0.76}
PLACES = ("on the master", "inside forward")
UNITS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def replicas(**values: object) -> Explorable:
    """DataParallel's bytes: change devices, batch, parameters and vocabulary, see what each device holds and sends.

    `values` are the controls' first values, such as ``devices=8``; a value that a control cannot take is a
    `CourseError`.
    """
    controls = {
        "devices": Slider("Devices", 1, 8, 4),
        "batch": Slider("Batch", 1, 512, 32, step=2, unit="sequences", log=True),
        "parameters": Slider("Parameters", 1, 3000, 110, step=10**0.1, unit="million", log=True),
        "vocabulary": Slider("Vocabulary", 2, 131072, 32768, step=2, unit="words", log=True),
        "loss": Choice("Loss", PLACES, PLACES[0]),
    }
    return Explorable(draw, **controls).at(**values)


def draw(devices: int, batch: int, parameters: float, vocabulary: int, loss: str) -> svg.Picture:
    """One state of the explorable; `parameters` in millions."""
    step = model.step(devices, batch, parameters * 1e6, vocabulary, inside=loss == PLACES[1])
    wide = svg.significant(round(model.width(parameters * 1e6, vocabulary)), 4)
    held = "; ".join(f"device {i}: {size(device.total)}" for i, device in enumerate(step.devices))
    moved = ", ".join(f"{name} {size(count)}" for name, count in step.moved.items())
    return svg.card(
        LINK_Y + 3 * ROW + 30,
        _title(step, loss),
        [*_held(step), *_moved(step)],
        subtitle=f"A BERT {wide} wide, {model.TOKENS} tokens a sequence, float32, AdamW; nothing is freed in a step",
        alt=f"Held: {held}. Moved in a step: {moved}; through device 0: {size(step.master_link)}.",
    )


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {"replicas_inside.svg": replicas(loss=PLACES[1]).picture}


def size(count: float) -> str:
    """A number of bytes for a reader."""
    unit, name = next(((unit, name) for unit, name in UNITS if count >= unit), (1, "B"))
    return f"{svg.significant(count / unit, 2 if count / unit < 100 else 3)} {name}"


def _title(step: model.Step, loss: str) -> str:
    master = size(step.devices[0].total)
    if len(step.devices) == 1:
        return f"One device: nothing is copied, and it holds {master}"
    if step.used == 1:
        return f"A single sample cannot be split: device 0 holds {master}, the rest is idle"
    other = size(step.devices[1].total)
    if step.used < len(step.devices):
        return f"{step.used} of {len(step.devices)} devices have work: device 0 holds {master}, device 1 {other}"
    ratio = step.devices[0].total / step.devices[1].total
    more = (
        f"{svg.significant(ratio)} times what device 1 holds"
        if ratio >= 1.05
        else "hardly more than device 1"
    )
    return f"Loss {loss}: device 0 holds {master}, {more}"


def _held(step: model.Step) -> list[str]:
    """A bar for each device: what all hold in its colour, what only the master holds in red."""
    blue = palette.rank_colour(0)
    entries = [("solid", palette.tint(blue, shade), name) for name, shade in SHADES.items()]
    entries.append(("solid", palette.ALARM, "only the master's"))
    parts = [svg.legend(svg.MARGIN, 86, entries)]
    row = min(38, HELD_HEIGHT / len(step.devices))
    scale = LONGEST / max(device.total for device in step.devices)
    for i, device in enumerate(step.devices):
        y, colour = HELD_Y + i * row, palette.rank_colour(i)
        parts.append(
            svg.text(
                LEFT - 14, y + row / 2 + 1, f"Device {i}", anchor="end", bold=True, colour=colour
            )
        )
        parts += (
            _bar(device, colour, y, row - 6, scale) if device.samples else [_idle(y + row / 2 + 1)]
        )
    return parts


def _idle(y: float) -> str:
    return svg.text(LEFT, y, "no sample is left for it: it gets no replica", colour=palette.MUTED)


def _bar(device: model.Device, colour: str, y: float, height: float, scale: float) -> list[str]:
    """What a device holds, piece after piece, and how much that is in all."""
    only = {name: palette.tint(palette.ALARM, 0.16 * i) for i, name in enumerate(device.extra)}
    shades = {name: palette.tint(colour, shade) for name, shade in SHADES.items()} | only
    x, parts = float(LEFT), []
    for name, count in (device.held | device.extra).items():
        width = count * scale
        parts.append(
            svg.rect(
                x, y, width - min(1, width / 4), height, shades[name], tip=f"{name}: {size(count)}"
            )
        )
        if svg.text_width(name) + 6 < width:
            ink = palette.INK if SHADES.get(name, 0) > 0.5 else palette.CARD
            parts.append(
                svg.text(x + width / 2, y + height / 2 + 4, name, anchor="middle", colour=ink)
            )
        x += width
    return [*parts, svg.text(x + 8, y + height / 2 + 4, size(device.total))]


def _moved(step: model.Step) -> list[str]:
    """The bytes of each stage, then those through one link; all on one scale."""
    links = (
        ("device 0", step.master_link, palette.ALARM),
        ("each other device", step.other_link, palette.rank_colour(1)),
        ("each rank of DDP", step.ddp_link, palette.MUTED),
    )
    most = max(step.master_link, step.ddp_link) or 1
    stages = [(name, count, palette.rank_colour(0)) for name, count in step.moved.items()]
    parts = [svg.text(svg.MARGIN, MOVED_Y - 14, "What a step moves, in order", bold=True, size=13)]
    parts += _hatched_rows(stages, MOVED_Y, most)
    parts.append(
        svg.text(
            svg.MARGIN, LINK_Y - 14, "Through one link, both ways together", bold=True, size=13
        )
    )
    return parts + _hatched_rows(links, LINK_Y, most)


def _hatched_rows(rows, top: float, most: float) -> list[str]:
    parts = []
    for i, (name, count, colour) in enumerate(rows):
        y, width = top + i * ROW, LONGEST * count / most
        parts.append(svg.text(LEFT - 14, y + 12, name, anchor="end"))
        if count:
            parts.append(
                svg.hatched(LEFT, y, max(width, 1), ROW - 6, colour, tip=f"{name}: {size(count)}")
            )
        parts.append(
            svg.text(
                LEFT + width + 8, y + 12, size(count) if count else "nothing", colour=palette.MUTED
            )
        )
    return parts
