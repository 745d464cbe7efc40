"""The picture of a network split by data or by layers: what each rank holds and computes when."""

from course.core import words
from course.drawing import palette, svg
from course.explore.controls import Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import split as model

DATA, LAYERS = "data", "layers"
NETWORK = 12  # layers; 1, 2, 3 and 4 ranks can share them evenly
LEFT, RIGHT = 104, svg.WIDTH - svg.MARGIN
ROW, HEIGHT = 42, 28
HOLDS_Y = 112  # y of the first rank's layers


def draw(by: str, ranks: int, parts: int) -> svg.Picture:
    """Draw one state of the explorable."""
    pieces = model.by_data(ranks) if by == DATA else model.by_layers(ranks, parts)
    times_y = HOLDS_Y + ranks * ROW + 34
    time, idle = model.duration(pieces) / (1 + model.BACKWARD), model.idle(pieces)
    bottom = times_y + ranks * ROW - 6
    which = f"which of the {NETWORK} layers, and how much of the batch (filled)"
    when = "when each rank computes: one process alone would need all this width"
    blue = palette.rank_colour(0)
    marks = [
        ("solid", palette.phase_colour(blue, "forward"), "forward"),
        ("solid", blue, "backward"),
        ("solid", palette.WAIT, "waiting"),
    ]
    body = [
        *(_holds(by, rank, ranks) for rank in range(ranks)),
        svg.text(LEFT, HOLDS_Y - 14, f"what each rank holds: {which}", colour=palette.MUTED),
        svg.text(LEFT, times_y - 14, when, colour=palette.MUTED),
        *(_lane(rank, times_y + rank * ROW, pieces[rank], time) for rank in range(ranks)),
        *(_average(times_y, ranks, time) if by == DATA and ranks > 1 else ()),
        svg.legend(LEFT, bottom + 22, marks),
    ]
    return svg.card(
        bottom + 40,
        _title(by, ranks, time, idle),
        body,
        subtitle=_subtitle(by, ranks, parts),
        alt=f"{words.plural(ranks, 'rank')}, split by {by}. "
        f"A step takes {100 * time:.0f} % of one process's time; "
        f"{100 * idle:.0f} % of the ranks' time is spent waiting.",
    )


def _title(by: str, ranks: int, time: float, idle: float) -> str:
    if ranks == 1:
        return "One rank has nobody to share with"
    wait = f"ranks wait {100 * idle:.0f} %" if idle > 1e-9 else "nobody waits"
    return f"Split by {by}: a step takes {100 * time:.0f} % of one process's time, {wait}"


def _subtitle(by: str, ranks: int, parts: int) -> str:
    if by == DATA:
        holds = f"Each rank holds all {NETWORK} layers"
        return f"{holds}; the gradients are averaged once per step, in no time here"
    travel = "activations and their gradients travel between neighbours"
    return f"Each rank holds its layers only; {travel}, in {words.plural(parts, 'part')}"


def _name(rank: int, y: float) -> str:
    colour = palette.rank_colour(rank)
    return svg.text(LEFT - 14, y + 19, f"Rank {rank}", anchor="end", bold=True, colour=colour)


def _holds(by: str, rank: int, ranks: int) -> str:
    """Draw a rank's layers as boxes, filled for the share of the batch that passes through them."""
    y, colour = HOLDS_Y + rank * ROW, palette.rank_colour(rank)
    if by == DATA:
        first, last = 0, NETWORK
        share, offset = 1 / ranks, rank / ranks
    else:
        first, last = rank * NETWORK // ranks, (rank + 1) * NETWORK // ranks
        share, offset = 1.0, 0.0
    slot = (RIGHT - LEFT) / NETWORK
    parts = [_name(rank, y)]
    for layer in range(NETWORK):
        x, width = LEFT + layer * slot, slot - 6
        if not first <= layer < last:
            edge = {"stroke": palette.RULE, "stroke_dasharray": "3 3"}
            parts.append(svg.rect(x, y, width, HEIGHT, palette.CARD, **edge))
            continue
        parts.append(svg.rect(x, y, width, HEIGHT, palette.CARD, stroke=colour))
        filled = palette.tint(colour, 0.6)
        parts.append(svg.rect(x + width * offset, y, width * share, HEIGHT, filled))
        parts.append(svg.text(x + width / 2, y + 19, str(layer), anchor="middle"))
    return "".join(parts)


def _average(y: float, ranks: int, time: float) -> list[str]:
    """Mark the averaging of all gradients: a line through the ends of the lanes."""
    x, bottom = LEFT + (RIGHT - LEFT) * time + 4, y + (ranks - 1) * ROW + HEIGHT
    label = svg.text(x + 10, (y + bottom) / 2 + 4, "gradients averaged", colour=palette.MUTED)
    ends = (svg.circle(x, y + rank * ROW + HEIGHT / 2, 4, palette.INK) for rank in range(ranks))
    return [svg.line(x, y, x, bottom, colour=palette.INK, width=2), *ends, label]


def _lane(rank: int, y: float, pieces: list[model.Piece], time: float) -> str:
    colour, scale = palette.rank_colour(rank), (RIGHT - LEFT) / (1 + model.BACKWARD)
    parts = [_name(rank, y), svg.rect(LEFT, y, (RIGHT - LEFT) * time, HEIGHT, palette.WAIT)]
    for piece in pieces:
        x, width = LEFT + piece.start * scale, (piece.end - piece.start) * scale
        fill, tip = palette.phase_colour(colour, piece.phase), f"{piece.phase}, part {piece.part}"
        parts.append(svg.rect(x, y, width - svg.hair(width), HEIGHT, fill, tip=tip))
    return "".join(parts)


@explorable
def split() -> Description:
    """One network on several ranks, split by data or by layers: who holds, computes, waits."""
    return draw, {
        "by": Choice("Split by", (DATA, LAYERS), DATA),
        "ranks": Slider("Ranks", 1, 4, 2),
        "parts": Slider("Parts of the batch (by layers)", 1, 8, 1),
    }
