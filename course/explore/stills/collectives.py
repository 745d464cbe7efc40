"""All collectives that move numbers, side by side."""

from course.drawing import palette, svg
from course.explore.models.collectives import COLLECTIVES, Example, counted
from course.explore.pictures.collectives import cell, held

PANEL_WIDTH, PANEL_HEIGHT = 180, 126  # the panel of one collective, in pixels
NUMBER = 20  # the width of a number and the space next to it
TOP = 84


def overview() -> svg.Picture:
    """Draw all collectives but the barrier, for three ranks; rank 0 is the root."""
    shown = [Example(name, counted(3)) for name in COLLECTIVES if name != "barrier"]
    parts = [
        _panel(example, svg.MARGIN + place % 4 * PANEL_WIDTH, TOP + place // 4 * PANEL_HEIGHT)
        for place, example in enumerate(shown)
    ]
    alt = "; ".join(f"{e.name}: {held(e.before())} becomes {held(e.after())}" for e in shown)
    return svg.card(
        TOP + 2 * PANEL_HEIGHT,
        "The same three ranks, eight times: before the call, and after it",
        parts,
        subtitle="Above, one rank is special, here rank 0; below, all are alike. "
        "The sum stands for any reduction",
        alt=alt,
    )


def _panel(example: Example, x: float, y: float) -> str:
    """Draw one small collective: a row for each rank."""
    parts = [svg.text(x, y, example.name, bold=True)]
    left = x + 3 * NUMBER
    right = left + 36
    middles = [y + 24 + rank * 30 for rank in range(example.ranks)]
    for source, to in example.pairs():
        colour = palette.rank_colour(source)
        ends = (left + 3, middles[source], right - 5, middles[to])
        parts.append(svg.arrow(*ends, colour=colour, width=1.2))
    for rank, middle in enumerate(middles):
        before, after = example.before()[rank], example.after()[rank]
        first = left - len(before) * NUMBER
        shown = [(first + place * NUMBER, entry) for place, entry in enumerate(before)]
        shown += [(right + place * NUMBER, entry) for place, entry in enumerate(after)]
        parts += [
            cell(begin, middle - 11, entry, width=NUMBER - 2, height=22, size=10)
            for begin, entry in shown
        ]
    return "".join(parts)
