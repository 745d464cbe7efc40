"""The picture of copies of a sharded model on several machines."""

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Slider
from course.explore.factory import Description, explorable
from course.explore.models import copies as model

TOP = 96  # y of the machines
CELL, STEP = 34, 40  # size of a GPU, and from one GPU to the next
COLUMN = 88  # from one machine to the next
BAR, APART = 24, 62
LEFT, RIGHT = svg.MARGIN, svg.WIDTH - svg.MARGIN
BLUE = palette.rank_colour(0)
PALE = palette.tint(BLUE, 0.5)


def draw(machines: int, gpus: int, sharing: int) -> svg.Picture:
    """Draw one state of the explorable."""
    layout = model.Layout(machines, gpus, sharing)
    bars = TOP + gpus * STEP + 70
    bottom = bars + 2 * APART
    marks = [
        ("hatched", BLUE, "gathers, and gradients within a copy"),
        ("hatched", PALE, "averages over the copies"),
    ]
    held, out = words.significant(layout.held, 3), words.significant(layout.out, 3)
    body = [
        *_copies(layout),
        *_gpus(layout),
        *_bar(bars, f"Each GPU holds {held} bytes per parameter", [("solid", BLUE, layout.held)]),
        *_bar(
            bars + APART,
            f"Out of each machine go {out} bytes per parameter and step",
            [("hatched", BLUE, layout.gathers_out), ("hatched", PALE, layout.averages_out)],
        ),
        svg.legend(LEFT, bottom + 8, marks),
    ]
    return svg.card(
        bottom + 28,
        _title(layout),
        body,
        subtitle="A number is a shard of the model, a frame a whole copy of it; "
        "float32, AdamW, rings in the order of the ranks",
        alt=f"{words.plural(machines, 'machine')} with {words.plural(gpus, 'GPU')} each; "
        f"{words.plural(layout.sharing, 'GPU')} share a copy of the model. A GPU holds {held} "
        f"bytes per parameter, and {out} leave a machine in a step.",
    )


def _title(layout: model.Layout) -> str:
    if layout.sharing == 1:
        return "Each GPU has a whole copy: that is plain data parallelism"
    if layout.copies == 1 and layout.machines == 1:
        return "One machine, one copy: nothing leaves it"
    if layout.copies == 1:
        return "One copy for all: gathers go through the network"
    if layout.sharing <= layout.gpus:
        return f"{layout.copies} copies: no gather leaves its machine"
    return f"{layout.copies} copies, each on several machines: gathers and averages cross"


def _place(layout: model.Layout, rank: int) -> tuple[float, float]:
    machine, gpu = divmod(rank, layout.gpus)
    return LEFT + 10 + machine * COLUMN, TOP + gpu * STEP


def _copies(layout: model.Layout) -> list[str]:
    """Draw a frame around the GPUs of each copy: a part of a machine, or machines side by side."""
    parts = []
    for copy in range(layout.copies):
        first, last = copy * layout.sharing, (copy + 1) * layout.sharing - 1
        x, y = _place(layout, first)
        right, _ = _place(layout, last)
        rows = min(layout.sharing, layout.gpus)
        width, height = right - x + CELL + 12, (rows - 1) * STEP + CELL + 4
        edge = {"stroke": palette.MUTED, "rx": 5, "tip": f"copy {copy}"}
        parts.append(svg.rect(x - 6, y - 2, width, height, palette.CARD, **edge))
    return parts


def _gpus(layout: model.Layout) -> list[str]:
    parts = []
    for rank in range(layout.ranks):
        (x, y), shard = _place(layout, rank), rank % layout.sharing
        colour = palette.rank_colour(shard)
        tip = f"rank {rank}: shard {shard} of copy {rank // layout.sharing}"
        parts.append(svg.rect(x, y + 2, CELL, CELL - 4, colour, rx=3, tip=tip))
        parts.append(
            svg.text(x + CELL / 2, y + 22, str(shard), anchor="middle", colour=palette.on(colour))
        )
    for machine in range(layout.machines):
        x, y = _place(layout, machine * layout.gpus)
        label = f"machine {machine}"
        below = y + layout.gpus * STEP + 14
        parts.append(svg.text(x + CELL / 2, below, label, anchor="middle", colour=palette.MUTED))
    return parts


def _bar(y: float, label: str, pieces: list[tuple[str, str, float]]) -> list[str]:
    """Draw a bar of pieces, each with its mark, colour and bytes."""
    parts, x = [svg.text(LEFT, y, label, bold=True)], float(LEFT)
    scale = (RIGHT - LEFT) / model.HELD_BYTES
    for mark, colour, nbytes in pieces:
        if width := nbytes * scale:
            draw_mark = svg.hatched if mark == "hatched" else svg.rect
            parts.append(draw_mark(x, y + 8, max(width - 1, 0.5), BAR, colour))
            x += width
    return parts


def _all_gpus(values: dict[str, int]) -> int:
    return values["machines"] * values["gpus"]


@explorable
def copies() -> Description:
    """How many GPUs share a copy of the model: what each holds, and what leaves a machine."""
    return draw, {
        "machines": Slider("Machines", 1, 8, 8, step=2, log=True),
        "gpus": Slider("GPUs in each", 1, 8, 8, step=2, log=True),
        "sharing": Slider("GPUs that share a copy", 1, 64, 64, step=2, log=True, most=_all_gpus),
    }
