"""A step of nn.DataParallel over time, one lane per device.

It shows what the master does alone, and what all devices do together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course.core import CourseError, words
from course.drawing import Picture, lanes, palette, svg

if TYPE_CHECKING:
    import pandas as pd

LEFT, RIGHT = lanes.LEFT, lanes.RIGHT  # where time begins and ends, in pixels
LANE, NEXT, TOP = lanes.COMPUTE, lanes.COMPUTE + 8, 102
# The stages of a step in order, each with its phase, or None if it copies between devices.
STAGES = {
    "scatter": None,
    "replicate": None,
    "forward": "forward",
    "gather": None,
    "loss": "other",
    "scatter back": None,
    "backward": "backward",
    "reduce": None,
    "step": "optimizer",
}
TOGETHER = ("forward", "backward")  # the stages of all devices; the others are the master's


@dataclass(frozen=True)
class Stretch:
    """What a device does from `start` to `end`, in ms; `stage` is one of `STAGES`."""

    device: int
    stage: str
    start: float
    end: float


def alone_ms(step: Sequence[Stretch]) -> float:
    """The time in ms in which only the master works and the other devices wait."""
    together = 0.0
    for stage in TOGETHER:
        stretches = [stretch for stretch in step if stretch.stage == stage]
        together += max(s.end for s in stretches) - min(s.start for s in stretches)
    return _length(step) - together


def device_lanes(steps: Mapping[str, "pd.DataFrame"]) -> Picture:
    """Draw measured steps below one another on one time axis, each under its name.

    A step is a table with a row for each device and stage, and the columns device, stage, start_ms
    and end_ms. Raises `CourseError` for an empty table.
    """
    by_name = {name: _stretches(table) for name, table in steps.items()}
    shares = [f"{100 * alone_ms(step) / _length(step):.0f} %" for step in by_name.values()]
    return draw_stages(
        by_name,
        f"While the others wait, the master works alone for {' and '.join(shares)} of a step",
        "Measured here. Solid is computing, hatched is copying between devices",
    )


def _stretches(table: "pd.DataFrame") -> list[Stretch]:
    if table.empty:
        raise CourseError("There is no step to draw: run the script that measures one first.")
    columns = zip(table["device"], table["stage"], table["start_ms"], table["end_ms"], strict=True)
    first = table["start_ms"].min()
    return [
        Stretch(int(device), stage, start - first, end - first)
        for device, stage, start, end in columns
    ]


def draw_stages(steps: Mapping[str, Sequence[Stretch]], title: str, subtitle: str) -> Picture:
    """Draw all steps on one time axis, each under its name unless that is empty."""
    top = max(_length(step) for step in steps.values())
    scale = (RIGHT - LEFT) / top
    parts: list[str] = []
    y = float(TOP)
    for name, step in steps.items():
        if name:
            parts += lanes.heading(f"{name}: {words.milliseconds(_length(step))} per step", y)
            y += lanes.HEADING
        for device in sorted({stretch.device for stretch in step}):
            parts += _lane(device, step, y, scale)
            y += NEXT
        if name:
            y += lanes.BETWEEN
    guides = svg.axis(LEFT, y, RIGHT - LEFT, top, "ms since the step began", rise=y - TOP + 6)
    alt = ". ".join(f"{name} {_alt_text(step)}".strip() for name, step in steps.items())
    return svg.card(y + 46, title, [_legend(), guides, *parts], subtitle=subtitle, alt=alt)


def _length(step: Sequence[Stretch]) -> float:
    return max(stretch.end for stretch in step)


def _legend() -> str:
    blue = palette.rank_colour(0)
    entries = [
        ("solid", palette.phase_colour(blue, phase), name)
        for name, phase in STAGES.items()
        if phase
    ]
    others = [("hatched", blue, "copying"), ("solid", palette.WAIT, "waiting")]
    return svg.legend(LEFT, 82, entries + others)


def _lane(device: int, step: Sequence[Stretch], y: float, scale: float) -> list[str]:
    colour = palette.rank_colour(device)
    parts = [
        svg.text(LEFT - 14, y + 18, f"Device {device}", anchor="end", bold=True, colour=colour),
        svg.rect(LEFT, y, _length(step) * scale, LANE, palette.WAIT, tip="waiting"),
    ]
    for stretch in step:
        if stretch.device == device:
            parts += _stretch(stretch, colour, y, scale)
    return parts


def _stretch(stretch: Stretch, colour: str, y: float, scale: float) -> list[str]:
    x, width = LEFT + stretch.start * scale, (stretch.end - stretch.start) * scale
    phase = STAGES[stretch.stage]
    tip = f"{stretch.stage}: {words.milliseconds(stretch.end - stretch.start)}"
    texts = {"label": stretch.stage, "tip": tip, "margin": 3}
    if phase is None:
        return lanes.communicating(x, y, width, LANE, colour, **texts, paper=1)
    return lanes.computing(x, y, width, colour, phase, **texts)


def _alt_text(step: Sequence[Stretch]) -> str:
    """Describe the master's stages in words, for the alt text."""
    master = [stretch for stretch in step if stretch.device == 0]
    stages = (f"{s.stage} {words.milliseconds(s.end - s.start)}" for s in master)
    return "Device 0 in order: " + ", ".join(stages)
