"""The picture of a network split by data or by layers: who holds what, and when each rank computes."""

from course.drawing import palette, svg
from course.explore.models import split as model
from course.explore.widget import Choice, Explorable, Slider

DATA, LAYERS = "data", "layers"
NETWORK = 12  # layers, which 1, 2, 3 and 4 ranks can share evenly
LEFT, RIGHT = 104, svg.WIDTH - svg.MARGIN
ROW, HIGH = 42, 28
HOLDS_Y = 112  # of the first rank's layers


def split(**values: object) -> Explorable:
    """One network on several ranks, split by data or by layers: what each holds, when it computes, when it waits.

    `values` are the controls' first values, such as ``by="layers"``; one that cannot be is a `CourseError`.
    """
    controls = {
        "by": Choice("Split by", (DATA, LAYERS), DATA),
        "ranks": Slider("Ranks", 1, 4, 2),
        "parts": Slider("Parts of the batch (by layers)", 1, 8, 1),
    }
    return Explorable(draw, **controls).at(**values)


def draw(by: str, ranks: int, parts: int) -> svg.Picture:
    """One state of the explorable."""
    pieces = model.by_data(ranks) if by == DATA else model.by_layers(ranks, parts)
    times_y = HOLDS_Y + ranks * ROW + 34
    time, idle = model.done(pieces) / (1 + model.BACKWARD), model.idle(pieces)
    bottom = times_y + ranks * ROW - 6
    holds = (
        f"what each rank holds: which of the {NETWORK} layers, and how much of the batch (filled)"
    )
    when = "when each rank computes: one process alone would need all this width"
    body = [
        *(_holds(by, rank, ranks) for rank in range(ranks)),
        svg.text(LEFT, HOLDS_Y - 14, holds, colour=palette.MUTED),
        svg.text(LEFT, times_y - 14, when, colour=palette.MUTED),
        *(_lane(rank, times_y + rank * ROW, pieces[rank], time) for rank in range(ranks)),
        svg.legend(LEFT, bottom + 22, [
            ("solid", palette.phase_colour(palette.rank_colour(0), "forward"), "forward"),
            ("solid", palette.rank_colour(0), "backward"), ("solid", palette.WAIT, "waiting")]),
    ]  # fmt: skip
    return svg.card(
        bottom + 40, _title(by, ranks, time, idle), body, subtitle=_subtitle(by, ranks, parts),
        alt=f"{ranks} ranks, split by {by}. A step takes {time:.0%} of one process's time; {idle:.0%} of the ranks' "
        "time is spent waiting.",
    )  # fmt: skip


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {"split_data.svg": split().picture}


def _title(by: str, ranks: int, time: float, idle: float) -> str:
    if ranks == 1:
        return "One rank has nobody to share with"
    step = f"a step takes {time:.0%} of one process's time"
    return f"Split by {by}: {step}" + (
        f", ranks wait {idle:.0%}" if idle > 1e-9 else ", nobody waits"
    )


def _subtitle(by: str, ranks: int, parts: int) -> str:
    if by == DATA:
        return f"Each rank holds all {NETWORK} layers; gradients travel once a step, and are averaged (not drawn)"
    so_many = f"{parts} part{'s' * (parts > 1)}"
    return f"Each rank holds its layers only; activations and their gradients travel between neighbours, in {so_many}"


def _name(rank: int, y: float) -> str:
    return svg.text(
        LEFT - 14, y + 19, f"Rank {rank}", anchor="end", bold=True, colour=palette.rank_colour(rank)
    )


def _holds(by: str, rank: int, ranks: int) -> str:
    """A rank's layers as boxes; the filled part of a box is the part of the batch that goes through it."""
    y, colour = HOLDS_Y + rank * ROW, palette.rank_colour(rank)
    first, last = (
        (0, NETWORK) if by == DATA else (rank * NETWORK // ranks, (rank + 1) * NETWORK // ranks)
    )
    share = 1 / ranks if by == DATA else 1.0
    slot = (RIGHT - LEFT) / NETWORK
    parts = [_name(rank, y)]
    for layer in range(NETWORK):
        x, wide = LEFT + layer * slot, slot - 6
        if not first <= layer < last:
            parts.append(
                svg.rect(
                    x, y, wide, HIGH, palette.CARD, stroke=palette.RULE, stroke_dasharray="3 3"
                )
            )
            continue
        parts.append(svg.rect(x, y, wide, HIGH, palette.CARD, stroke=colour))
        begin = x + wide * (rank * share if by == DATA else 0)
        parts.append(svg.rect(begin, y, wide * share, HIGH, palette.tint(colour, 0.6)))
        parts.append(svg.text(x + wide / 2, y + 19, str(layer), anchor="middle"))
    return "".join(parts)


def _lane(rank: int, y: float, pieces: list[model.Piece], time: float) -> str:
    colour, scale = palette.rank_colour(rank), (RIGHT - LEFT) / (1 + model.BACKWARD)
    parts = [_name(rank, y), svg.rect(LEFT, y, (RIGHT - LEFT) * time, HIGH, palette.WAIT)]
    for piece in pieces:
        x, wide = LEFT + piece.start * scale, (piece.end - piece.start) * scale
        fill = palette.phase_colour(colour, piece.phase)
        parts.append(
            svg.rect(
                x, y, wide - min(1, wide / 4), HIGH, fill, tip=f"{piece.phase}, part {piece.part}"
            )
        )
    return "".join(parts)
