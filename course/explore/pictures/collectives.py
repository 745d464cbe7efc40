"""The picture of one collective, what the ranks hold before and after, and the explorable made of it."""

from course.drawing import palette, svg
from course.explore.models.collectives import COLLECTIVES, OPS, Cell, Example, Held, counted
from course.explore.widget import Choice, Explorable, Slider, Steps

ROW, CELL, HIGH = 54, 40, 34  # pixels: between ranks, wide and high of a number
TOP = 104  # of the first rank's numbers
LEFT, MIDDLE = (
    104,
    416,
)  # where rank names end, and the middle of what lies between before and after
GAP = 76  # from that middle to the numbers on either side
MOST = 6  # ranks that fit
PANEL_WIDE, PANEL_HIGH, SMALL = (
    180,
    126,
    20,
)  # of one collective among others, and the width of its numbers
BEFORE, ON_THE_WAY, AFTER = range(3)
LATE = (
    0.34,
    0.72,
    0.5,
    0.22,
    0.62,
    0.42,
)  # when each rank comes to the barrier, as a share of the time shown


def collectives(**values: object) -> Explorable:
    """Every collective, for 2 to 6 ranks: what each rank holds before it, who sends to whom, what each holds after.

    `values` are the controls' first values, such as ``collective="gather"``; one that cannot be is a `CourseError`.
    """
    controls = {
        "collective": Choice("Collective", tuple(COLLECTIVES), "all-reduce"),
        "moment": Steps("Before, on the way, after", 3, AFTER),
        "ranks": Slider("Ranks", 2, MOST, 4),
        "root": Slider("Root", 0, MOST - 1, 0),
        "op": Choice("Reduction", tuple(OPS), "sum"),
    }
    return Explorable(_draw, **controls).at(**values)


def _draw(collective: str, moment: int, ranks: int, root: int, op: str) -> svg.Picture:
    return draw(Example(collective, counted(ranks), min(root, ranks - 1), op), moment)


def draw(
    example: Example, moment: int = AFTER, *, title: str = "", measured: Held | None = None
) -> svg.Picture:
    """One collective; what the ranks hold after it (or was `measured`) is hidden before the `moment` `AFTER`."""
    after = example.after() if measured is None else measured
    body = (
        _barrier(example, moment)
        if example.name == "barrier"
        else _exchange(example, after, moment)
    )
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
    listed = (" ".join(str(cell.number) for cell in cells) or "nothing" for cells in state)
    return "; ".join(f"rank {rank}: {words}" for rank, words in enumerate(listed))


def figures() -> dict[str, str]:
    """The stills for images/, by file name."""
    return {"collectives.svg": overview()}


def overview() -> svg.Picture:
    """All collectives that move numbers, side by side, for three ranks; rank 0 is the root."""
    shown = [Example(name, counted(3)) for name in COLLECTIVES if name != "barrier"]
    parts = [
        _panel(example, svg.MARGIN + place % 4 * PANEL_WIDE, 84 + place // 4 * PANEL_HIGH)
        for place, example in enumerate(shown)
    ]
    told = "; ".join(f"{e.name}: {held(e.before())} becomes {held(e.after())}" for e in shown)
    return svg.card(
        84 + 2 * PANEL_HIGH, "The same three ranks, eight times: before the call, and after it", parts,
        subtitle="Above, one rank is special, here rank 0; below, all are alike. The sum stands for any reduction",
        alt=told,
    )  # fmt: skip


def _panel(example: Example, x: float, y: float) -> str:
    """One collective in small: a row for each rank."""
    parts = [svg.text(x, y, example.name, bold=True)]
    left, right = x + 3 * SMALL, x + 3 * SMALL + 36
    middles = [y + 24 + rank * 30 for rank in range(example.ranks)]
    for source, to in example.pairs():
        colour = palette.rank_colour(source)
        parts.append(
            svg.arrow(left + 3, middles[source], right - 5, middles[to], colour=colour, width=1.2)
        )
    for rank, middle in enumerate(middles):
        before, after = example.before()[rank], example.after()[rank]
        at = [(left - (len(before) - place) * SMALL, cell) for place, cell in enumerate(before)]
        at += [(right + place * SMALL, cell) for place, cell in enumerate(after)]
        parts += [
            _cell(begin, middle - 11, cell, wide=SMALL - 2, high=22, size=10) for begin, cell in at
        ]
    return "".join(parts)


def _name(rank: int, y: float) -> str:
    colour = palette.rank_colour(rank)
    return svg.text(
        LEFT - 14, y + HIGH / 2 + 4, f"Rank {rank}", anchor="end", bold=True, colour=colour
    )


def _exchange(example: Example, after: Held, moment: int) -> list[str]:
    """Numbers left and right, one row a rank, and between them an arrow for every two ranks that talk."""
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
        for place, cell in enumerate(cells):
            parts.append(_cell(left - (len(cells) - place) * CELL, y, cell))
    for rank, cells in enumerate(after):
        for place, cell in enumerate(cells):
            at = right + place * CELL, TOP + rank * ROW
            parts.append(_cell(*at, cell) if moment == AFTER else _unknown(*at))
        if not cells and moment == AFTER:
            words = "undefined" if example.name == "reduce" else "nothing new"
            y = TOP + rank * ROW + HIGH / 2 + 4
            parts.append(svg.text(right, y, words, colour=palette.MUTED))
    return parts


def _arrow(source: int, to: int, left: float, right: float) -> str:
    y1, y2 = (TOP + rank * ROW + HIGH / 2 for rank in (source, to))
    return svg.arrow(left + 8, y1, right - 8, y2, colour=palette.rank_colour(source), width=1.6)


def _cell(
    x: float, y: float, cell: Cell, *, wide: float = CELL - 4, high: float = HIGH, size: float = 12
) -> str:
    """A number, above a bar in the colours of the ranks that are in it."""
    whole = len(cell.sources) == 1
    ground = palette.tint(palette.rank_colour(cell.sources[0]), 0.84) if whole else palette.CARD
    edge = palette.rank_colour(cell.sources[0]) if whole else palette.MUTED
    bar, slot = high / 5, wide / len(cell.sources)
    parts = [svg.rect(x, y, wide, high, ground, stroke=edge)]
    for number, source in enumerate(cell.sources):
        parts.append(
            svg.rect(x + number * slot, y + high - bar, slot, bar, palette.rank_colour(source))
        )
    middle = y + (high - bar + 0.72 * size) / 2
    return "".join(parts) + svg.text(
        x + wide / 2, middle, str(cell.number), anchor="middle", bold=True, size=size
    )


def _unknown(x: float, y: float) -> str:
    wide = CELL - 4
    box = svg.rect(x, y, wide, HIGH, palette.CARD, stroke=palette.MUTED, stroke_dasharray="3 3")
    return box + svg.text(x + wide / 2, y + 22, "?", anchor="middle", colour=palette.MUTED)


def _barrier(example: Example, moment: int) -> list[str]:
    """Time from left to right: ranks compute, come to the barrier, wait for the last, and go on together."""
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
    return (
        parts
        if moment == BEFORE
        else [*parts, svg.line(at, TOP - 8, at, TOP + ROW * example.ranks - 12, width=2)]
    )
