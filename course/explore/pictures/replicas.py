"""The picture of what nn.DataParallel holds on each device and moves in a step."""

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import FINE, Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import replicas as model

LEFT = 156  # where bars begin, in pixels
LONGEST = svg.WIDTH - svg.MARGIN - LEFT - 72  # the longest bar; its number needs 72 pixels
HELD_Y, HELD_HEIGHT = 106, 168
MOVED_Y, LINK_Y, ROW = 324, 450, 22
SHADES = {"weights": 0.0, "gradients": 0.3, "activations": 0.55, "outputs": 0.76}
PLACES = ("on the master", "inside forward")


def draw(devices: int, batch: int, parameters: float, vocabulary: int, loss: str) -> svg.Picture:
    """Draw one state of the explorable; `parameters` in millions."""
    step = model.step(devices, batch, parameters * 1e6, vocabulary, inside=loss == PLACES[1])
    bert_width = words.significant(round(model.width(parameters * 1e6, vocabulary)), 4)
    totals = enumerate(words.size(device.total) for device in step.devices)
    held = "; ".join(f"device {i}: {total}" for i, total in totals)
    moved = ", ".join(f"{name} {words.size(count)}" for name, count in step.moved.items())
    return svg.card(
        LINK_Y + 16,
        _title(step, loss),
        [*_held(step), *_moved(step)],
        subtitle=f"A BERT {bert_width} wide, {model.TOKENS} tokens per sequence, float32, AdamW; "
        "nothing is freed in a step",
        alt=f"Held: {held}. Moved in a step: {moved}; "
        f"through device 0: {words.size(step.master_link)}.",
    )


def _title(step: model.ParallelStep, loss: str) -> str:
    count, master = len(step.devices), words.size(step.devices[0].total)
    if count == 1:
        return f"One device: nothing is copied, and it holds {master}"
    if step.used == 1:
        return f"A single sample cannot be split: device 0 holds {master}, the rest is idle"
    if step.used < count:
        held = f"device 0 holds {master}, device 1 {words.size(step.devices[1].total)}"
        return f"{step.used} of {count} devices have work: {held}"
    ratio, more = step.devices[0].total / step.devices[1].total, "hardly more than device 1"
    if ratio >= 1.05:
        more = f"{words.significant(ratio)} times what device 1 holds"
    return f"Loss {loss}: device 0 holds {master}, {more}"


def _held(step: model.ParallelStep) -> list[str]:
    """Draw a bar for each device; what only the master holds is red."""
    blue = palette.rank_colour(0)
    entries = [("solid", palette.tint(blue, shade), name) for name, shade in SHADES.items()]
    entries.append(("solid", palette.ALARM, "only the master's"))
    parts = [svg.legend(svg.MARGIN, 86, entries)]
    row = min(38, HELD_HEIGHT / len(step.devices))
    scale = LONGEST / max(device.total for device in step.devices)
    for i, device in enumerate(step.devices):
        y, colour = HELD_Y + i * row, palette.rank_colour(i)
        baseline, name = y + row / 2 + 1, f"Device {i}"
        parts.append(svg.text(LEFT - 14, baseline, name, anchor="end", bold=True, colour=colour))
        if device.samples:
            parts += _bar(device, colour, y, row - 6, scale)
        else:
            parts.append(_idle(baseline))
    return parts


def _idle(y: float) -> str:
    return svg.text(LEFT, y, "no sample is left for it: it gets no replica", colour=palette.MUTED)


def _bar(
    device: model.DeviceMemory, colour: str, y: float, height: float, scale: float
) -> list[str]:
    """Draw the pieces that a device holds, and their total."""
    only = {name: palette.tint(palette.ALARM, 0.16 * i) for i, name in enumerate(device.extra)}
    shades = {name: palette.tint(colour, shade) for name, shade in SHADES.items()} | only
    x, parts = float(LEFT), []
    for name, count in (device.held | device.extra).items():
        width, tip = count * scale, f"{name}: {words.size(count)}"
        parts.append(svg.rect(x, y, width - svg.hair(width), height, shades[name], tip=tip))
        if svg.text_width(name) + 6 < width:
            ink = palette.on(shades[name])
            middle = x + width / 2
            parts.append(svg.text(middle, y + height / 2 + 4, name, anchor="middle", colour=ink))
        x += width
    return [*parts, svg.text(x + 8, y + height / 2 + 4, words.size(device.total))]


def _moved(step: model.ParallelStep) -> list[str]:
    """Draw a bar for the bytes of each stage, and write the bytes through single links."""
    links = {
        "the link of device 0 carries": step.master_link,
        "of each other device": step.other_link,
        "and in DDP of each rank": step.ddp_link,
    }
    loads = ", ".join(f"{name} {_amount(count)}" for name, count in links.items())
    heading = "What a step moves, in order"
    parts = [svg.text(svg.MARGIN, MOVED_Y - 14, heading, bold=True, size=13)]
    for i, (name, count) in enumerate(step.moved.items()):
        y, width = MOVED_Y + i * ROW, LONGEST * count / (max(step.moved.values()) or 1)
        parts.append(svg.text(LEFT - 14, y + 12, name, anchor="end"))
        if count:
            tip = f"{name}: {_amount(count)}"
            bar = svg.hatched(LEFT, y, max(width, 1), ROW - 6, palette.rank_colour(0), tip=tip)
            parts.append(bar)
        parts.append(svg.text(LEFT + width + 8, y + 12, _amount(count), colour=palette.MUTED))
    line = f"Both ways together: {loads}."
    return [*parts, svg.text(svg.MARGIN, LINK_Y, line, colour=palette.MUTED, size=11)]


def _amount(count: float) -> str:
    return words.size(count) if count else "nothing"


@explorable
def replicas() -> Description:
    """DataParallel's bytes: what each device holds and sends in a step.

    Change the devices, the batch, the parameters and the vocabulary.
    """
    return draw, {
        "devices": Slider("Devices", 1, 8, 4),
        "batch": Slider("Sequences in the batch", 1, 512, 32, step=2, log=True),
        "parameters": Slider("Parameters", 1, 3000, 110, step=FINE, unit="million", log=True),
        "vocabulary": Slider("Vocabulary", 2, 131072, 32768, step=2, unit="words", log=True),
        "loss": Choice("Loss", PLACES, PLACES[0]),
    }
