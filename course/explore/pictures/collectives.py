"""The picture of one collective: what the ranks hold before and after."""

from course.drawing import palette, svg
from course.explore.models.collectives import Cell, Example, Held

ROW, CELL, HIGH = 54, 40, 34  # pixels: between ranks, wide and high of a number
TOP = 104  # of the first rank's numbers
LEFT, MIDDLE = 104, 416  # where rank names end, and the middle between before and after
GAP = 76  # from that middle to the numbers on either side
MOST = 6  # ranks that fit
BEFORE, ON_THE_WAY, AFTER = range(3)
# When each rank comes to the barrier, as a share of the time shown.
LATE = (0.34, 0.72, 0.5, 0.22, 0.62, 0.42)


def draw(
    example: Example, moment: int = AFTER, *, title: str = "", measured: Held | None = None
) -> svg.Picture:
    """One collective at one `moment`: `BEFORE`, `ON_THE_WAY` or `AFTER`.

    What the ranks hold afterwards (or what was `measured`) is hidden until it is `AFTER`.
    """
    after = example.after() if measured is None else measured
    if example.name == "barrier":
        body = _barrier(example, moment)
    else:
        body = _exchange(example, after, moment)
    ended = f"After: {held(after)}." if moment == AFTER else "After: to be predicted."
    return svg.card(
        TOP + ROW * example.ranks + 4,
        title or f"{example.name.capitalize()}: {example.words(example.kind.point)}",
        body,
        subtitle=example.words(example.kind.call),
        alt=f"Before: {held(example.before())}. {ended}",
    )


def held(state: Held) -> str:
    """What the ranks hold, in words."""
    listed = (" ".join(str(one.number) for one in cells) or "nothing" for cells in state)
    return "; ".join(f"rank {rank}: {numbers}" for rank, numbers in enumerate(listed))


def _name(rank: int, y: float) -> str:
    colour = palette.rank_colour(rank)
    name = f"Rank {rank}"
    return svg.text(LEFT - 14, y + HIGH / 2 + 4, name, anchor="end", bold=True, colour=colour)


def _exchange(example: Example, after: Held, moment: int) -> list[str]:
    """Numbers left and right, one row per rank, and arrows between the ranks that talk."""
    left, right = MIDDLE - GAP, MIDDLE + GAP
    parts = [
        svg.text(left, 90, "before", anchor="end", colour=palette.MUTED),
        svg.text(right, 90, "after", colour=palette.MUTED),
    ]
    if moment != BEFORE:
        parts += [_arrow(source, to, left, right) for source, to in example.pairs()]
    for rank, cells in enumerate(example.before()):
        y = TOP + rank * ROW
        parts.append(_name(rank, y))
        for place, one in enumerate(cells):
            parts.append(cell(left - (len(cells) - place) * CELL, y, one))
    for rank, cells in enumerate(after):
        for place, one in enumerate(cells):
            at = right + place * CELL, TOP + rank * ROW
            parts.append(cell(*at, one) if moment == AFTER else _unknown(*at))
        if not cells and moment == AFTER:
            label = "undefined" if example.name == "reduce" else "nothing new"
            y = TOP + rank * ROW + HIGH / 2 + 4
            parts.append(svg.text(right, y, label, colour=palette.MUTED))
    return parts


def _arrow(source: int, to: int, left: float, right: float) -> str:
    y1, y2 = (TOP + rank * ROW + HIGH / 2 for rank in (source, to))
    return svg.arrow(left + 8, y1, right - 8, y2, colour=palette.rank_colour(source), width=1.6)


def cell(
    x: float, y: float, held: Cell, *, wide: float = CELL - 4, high: float = HIGH, size: float = 12
) -> str:
    """A number, above a bar in the colours of the ranks that are in it."""
    ground, edge = palette.CARD, palette.MUTED
    if len(held.sources) == 1:
        edge = palette.rank_colour(held.sources[0])
        ground = palette.tint(edge, 0.84)
    bar, slot = high / 5, wide / len(held.sources)
    parts = [svg.rect(x, y, wide, high, ground, stroke=edge)]
    for place, source in enumerate(held.sources):
        colour = palette.rank_colour(source)
        parts.append(svg.rect(x + place * slot, y + high - bar, slot, bar, colour))
    number, middle = str(held.number), y + (high - bar + 0.72 * size) / 2
    parts.append(svg.text(x + wide / 2, middle, number, anchor="middle", bold=True, size=size))
    return "".join(parts)


def _unknown(x: float, y: float) -> str:
    wide = CELL - 4
    box = svg.rect(x, y, wide, HIGH, palette.CARD, stroke=palette.MUTED, stroke_dasharray="3 3")
    return box + svg.text(x + wide / 2, y + 22, "?", anchor="middle", colour=palette.MUTED)


def _barrier(example: Example, moment: int) -> list[str]:
    """Time goes right: ranks compute, come to the barrier, wait for the last, go on together."""
    wide = svg.WIDTH - svg.MARGIN - LEFT
    last = max(LATE[: example.ranks])
    at = LEFT + last * wide
    marks = [
        ("solid", palette.rank_colour(0), "computing"),
        ("solid", palette.WAIT, "waiting at the barrier"),
    ]
    parts = [svg.legend(LEFT, 90, marks)]
    for rank in range(example.ranks):
        y, colour, comes = TOP + rank * ROW, palette.rank_colour(rank), LEFT + LATE[rank] * wide
        parts += [_name(rank, y), svg.rect(LEFT, y, comes - LEFT, HIGH, colour)]
        if moment != BEFORE:
            parts.append(svg.rect(comes, y, at - comes, HIGH, palette.WAIT))
        if moment == AFTER:
            parts.append(svg.rect(at + 2, y, LEFT + wide - at - 2, HIGH, colour))
    if moment != BEFORE:
        parts.append(svg.line(at, TOP - 8, at, TOP + ROW * example.ranks - 12, width=2))
    return parts
