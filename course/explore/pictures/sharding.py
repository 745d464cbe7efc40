"""The picture of what each way of sharding holds on a rank, against the memory of its GPU."""

from collections.abc import Sequence

from course.core import words
from course.drawing import palette, svg, touch
from course.explore.controls import Choice, Slider, Toggle
from course.explore.factory import Description, explorable
from course.explore.models import sharding as model

LEFT, RIGHT = 132, svg.WIDTH - svg.MARGIN
TOP, ROW, HEIGHT = 112, 56, 30
GB = 1e9
LIMIT = "Memory of a GPU"
SHADES = {
    "weights": 0.0,
    "gradients": 0.32,
    "optimizer state": 0.58,
    "layers gathered": 0.78,
    "activations": 0.0,
}


def draw(
    size: str, ranks: int, memory: int, precision: str, tokens: int, recompute: bool
) -> svg.Picture:
    """Draw one state of the explorable; `memory` of a GPU in GB, `tokens` per rank in thousands."""
    shape = model.MODELS[size]
    ledgers = [
        model.ledger(way, shape, ranks, tokens * 1000, precision, recompute) for way in model.WAYS
    ]
    top = svg.round_up(max(memory * 1.25, min(ledgers[-1].total / GB, memory * 4) * 1.1))
    bottom = TOP + len(ledgers) * ROW
    per_pixel = top / (RIGHT - LEFT)
    limit = LEFT + memory / per_pixel
    body = [
        svg.legend(svg.MARGIN, 86, [("solid", _colour(name), name) for name in SHADES]),
        *(
            mark
            for row, ledger in enumerate(ledgers)
            for mark in _row(ledger, row, memory, top, ranks)
        ),
        svg.axis(LEFT, bottom, RIGHT - LEFT, top, "GB on each rank", rise=0),
        svg.line(limit, TOP - 6, limit, bottom, colour=palette.ALARM, width=2, dash="6 4"),
        touch.handle(limit - 12, TOP - 6, 24, bottom - TOP + 6, "memory", per_pixel, LIMIT),
        *_table(ledgers, bottom + 66, memory, ranks, precision),
    ]
    return svg.card(
        bottom + 66 + 5 * 20 + 16,
        _title(ledgers, memory, ranks),
        body,
        subtitle=f"{size} parameters, AdamW, {precision}; {words.plural(ranks, 'GPU')} of "
        f"{memory} GB (red), {tokens},000 tokens each",
        alt="; ".join(
            f"{ledger.way}: {words.significant(ledger.total / GB)} GB, "
            f"sends {words.significant(ledger.sent / GB)} GB per step"
            for ledger in ledgers
        )
        + ".",
        touch="Drag the red line: how much memory would be enough?",
    )


def _title(ledgers: Sequence[model.Ledger], memory: float, ranks: int) -> str:
    fits = [ledger.way for ledger in ledgers if ledger.total <= memory * GB]
    if len(fits) == len(ledgers):
        return "All four ways fit: DDP is the simplest of them"
    if fits:
        return f"{fits[0]} is the first way that fits on each GPU"
    most = words.significant(ledgers[-1].total / GB)
    if ranks == 1:
        return f"One GPU has nobody to share with: {most} GB do not fit"
    return f"No way fits: even {model.ZERO_3} holds {most} GB on each GPU"


def _colour(name: str) -> str:
    if name == "activations":
        return palette.rank_colour(1)
    return palette.tint(palette.rank_colour(0), SHADES[name])


def _row(ledger: model.Ledger, row: int, memory: float, top: float, ranks: int) -> list[str]:
    """Draw the bar of one way, and its total.

    A bar longer than the axis is cut with a zigzag, and its parts are listed in words.
    """
    y, scale = TOP + row * ROW, (RIGHT - LEFT) / top / GB
    parts = [svg.text(LEFT - 12, y + 20, ledger.way, anchor="end", bold=True)]
    x = float(LEFT)
    for name, count in ledger.held.items():
        width = min(count * scale, RIGHT - x)
        tip = f"{name}: {words.significant(count / GB)} GB"
        parts.append(svg.rect(x, y, width - svg.hair(width), HEIGHT, _colour(name), tip=tip))
        x += width
    total = f"{words.significant(ledger.total / GB, 3)} GB"
    over = ledger.total > memory * GB
    verdict = f"{total}: too much" if over else f"{total}: fits"
    colour = palette.ALARM if over else palette.GOOD
    parts.append(svg.text(LEFT, y + HEIGHT + 14, verdict, colour=colour, size=11, bold=True))
    if ledger.total > top * GB:
        parts.append(_zigzag(RIGHT - 14, y))
        large = {name: n for name, n in ledger.held.items() if n > ledger.total / 100}
        kinds = [f"{name} {words.significant(n / GB)}" for name, n in large.items()]
        x = LEFT + svg.text_width(verdict, 11, bold=True) + 10
        parts.append(svg.text(x, y + HEIGHT + 14, ", ".join(kinds), colour=palette.MUTED, size=11))
    return parts


def _zigzag(x: float, y: float) -> str:
    """Draw a white zigzag through a bar, from top to bottom."""
    points = [(x + (4 if step % 2 else -4), y - 2 + step * (HEIGHT + 4) / 6) for step in range(7)]
    return svg.polyline(points, colour=palette.CARD, width=4)


def _table(
    ledgers: Sequence[model.Ledger], top: float, memory: float, ranks: int, precision: str
) -> list[str]:
    """Write bytes per parameter, what a step sends, and the largest model, a line per way."""
    columns = (LEFT - 12, 250, 430, 640)
    heads = (
        "",
        "bytes per parameter",
        "sent per rank and step, flat buffers",
        "largest model, without activations",
    )
    parts = [
        svg.text(x, top, head, colour=palette.MUTED, anchor="middle", size=11)
        for x, head in zip(columns[1:], heads[1:], strict=True)
    ]
    for row, ledger in enumerate(ledgers, start=1):
        y = top + row * 20
        most = model.largest(ledger.way, ranks, memory * GB, precision) / GB
        parts.append(svg.text(columns[0], y, ledger.way, anchor="end", bold=True))
        cells = (
            words.significant(ledger.per_parameter, 3),
            f"{words.significant(ledger.sent / GB, 3)} GB" if ledger.sent else "nothing",
            f"{words.significant(most, 2)} billion",
        )
        for x, cell in zip(columns[1:], cells, strict=True):
            parts.append(svg.text(x, y, cell, anchor="middle"))
    return parts


@explorable
def sharding() -> Description:
    """DDP, ZeRO-1, 2 and 3: what each rank holds of a model, against the memory of its GPU."""
    return draw, {
        "size": Choice("Model", tuple(model.MODELS), "Llama 3, 8 billion"),
        "ranks": Slider("GPUs", 1, 1024, 8, step=2, log=True),
        "memory": Slider("Memory per GPU", 16, 192, 80, step=16, unit="GB"),
        "precision": Choice("Precision", tuple(model.PRECISIONS), model.MIXED),
        "tokens": Slider("Tokens per GPU", 1, 128, 4, step=2, unit="thousand", log=True),
        "recompute": Toggle("Recompute activations", False),
    }
