"""The picture of one collective: what the ranks hold before and after."""

import itertools
from collections.abc import Iterable, Sequence

from course.drawing import palette, svg
from course.explore.controls import Choice, Slider
from course.explore.factory import Description, explorable
from course.explore.models import collectives as model
from course.explore.models.collectives import Example, Held, Number

ROW, CELL, HEIGHT = 54, 40, 34  # pixels from rank to rank; least width, and height, of a number
WIDEST = 140  # width of a number that is alone in its row
TOP = 104  # y of the first rank's numbers
LEFT, MIDDLE = 104, 416  # where rank names end; the middle between before and after
GAP = 76  # from that middle to the numbers on either side
MOST = 6  # the most ranks, and the most numbers of a rank
DIGITS = 4  # the most digits that fit in a cell
LONGEST = 24  # the most letters of a prediction
BEFORE, ON_THE_WAY, AFTER = range(3)
# When each rank reaches the barrier, as a share of the time shown.
LATE = (0.34, 0.72, 0.5, 0.22, 0.62, 0.42)


def draw(example: Example, moment: int = AFTER) -> svg.Picture:
    """Draw one collective at one `moment`: `BEFORE`, `ON_THE_WAY` or `AFTER`.

    What the ranks hold afterwards is hidden before `AFTER`.
    """
    after = example.after()
    if example.name == "barrier":
        body = _barrier(example, moment)
    else:
        most = max(len(cells) for cells in [*example.before(), *after])
        width = min(WIDEST, max(CELL, (MIDDLE - GAP - LEFT) / most))
        body = _before(example, moment, width)
        for rank, cells in enumerate(after):
            body += (
                _after(example, rank, cells, width)
                if moment == AFTER
                else _unknown(rank, "?" * len(cells), width)
            )
    ended = f"After: {held(after)}." if moment == AFTER else "After: to be predicted."
    return svg.card(
        TOP + ROW * example.ranks + 4,
        f"{example.name.capitalize()}: {example.words(example.kind.point)}",
        body,
        subtitle=example.words(example.kind.call),
        alt=f"Before: {held(example.before())}. {ended}",
    )


def draw_quiz(
    example: Example,
    predicted: Iterable[Sequence[int]],
    title: str,
    notice: str = "",
    measured: Held | None = None,
) -> svg.Picture:
    """Draw a question, each rank's `predicted` numbers and, after a run, the `measured` ones.

    `notice` is shown above a picture that can be answered.
    """
    body, ended = _before(example, BEFORE if measured is None else AFTER), "to be predicted."
    for rank, numbers in enumerate(predicted):
        if measured is None:
            body += _unknown(rank, numbers or "?")
        else:
            body += _after(example, rank, measured[rank])
            body.append(_verdict(rank, numbers, measured[rank]))
    if measured is not None:
        ended = f"{held(measured)}."
    return svg.card(
        TOP + ROW * example.ranks + 4,
        title,
        body,
        subtitle=example.words(example.kind.call),
        alt=f"Before: {held(example.before())}. After: {ended}",
        touch=notice,
    )


def held(state: Held) -> str:
    """Describe in words what the ranks hold."""
    listed = (" ".join(str(entry.number) for entry in cells) or "nothing" for cells in state)
    return "; ".join(f"rank {rank}: {numbers}" for rank, numbers in enumerate(listed))


def _name(rank: int, y: float) -> str:
    colour = palette.rank_colour(rank)
    name = f"Rank {rank}"
    return svg.text(LEFT - 14, y + HEIGHT / 2 + 4, name, anchor="end", bold=True, colour=colour)


def _before(example: Example, moment: int, width: float = CELL) -> list[str]:
    """Draw the left half, one row per rank, and arrows between the ranks that communicate.

    A number is `width` pixels wide, here and below.
    """
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
        for place, entry in enumerate(cells):
            x = left - (len(cells) - place) * width
            parts.append(cell(x, y, entry, width=width - 4, size=_size(width)))
    return parts


def _size(width: float) -> float:
    """The font size of a number that is `width` pixels wide."""
    return 12 if width < 60 else 15


def _after(example: Example, rank: int, cells: Sequence[Number], width: float = CELL) -> list[str]:
    """Draw what a rank holds, in the right half."""
    x, y = MIDDLE + GAP, TOP + rank * ROW
    if not cells:
        label = "undefined" if example.name == "reduce" else "nothing new"
        return [svg.text(x, y + HEIGHT / 2 + 4, label, colour=palette.MUTED)]
    return [
        cell(x + place * width, y, entry, width=width - 4, size=_size(width))
        for place, entry in enumerate(cells)
    ]


def _unknown(rank: int, shown: Iterable[object], width: float = CELL) -> list[str]:
    """Draw a rank's unknown result in the right half: predicted numbers or question marks."""
    parts, y, inside = [], TOP + rank * ROW, width - 4
    for place, value in enumerate(itertools.islice(shown, MOST)):
        x = MIDDLE + GAP + place * width
        text = str(value) if len(str(value)) <= DIGITS else "…"
        frame = {"stroke": palette.MUTED, "stroke_dasharray": "3 3"}
        parts.append(svg.rect(x, y, inside, HEIGHT, palette.CARD, **frame))
        parts.append(svg.text(x + inside / 2, y + 22, text, anchor="middle", colour=palette.MUTED))
    return parts


def _verdict(rank: int, numbers: Sequence[int], cells: Sequence[Number]) -> str:
    """Draw whether a prediction is right, below what the rank holds."""
    right = list(numbers) == [entry.number for entry in cells]
    answer = " ".join(map(str, numbers)) or "nothing"
    answer = answer if len(answer) <= LONGEST else f"{answer[: LONGEST - 1]}…"
    verdict = f"✓ you: {answer}" if right else f"✗ you: {answer}"
    colour = palette.GOOD if right else palette.ALARM
    y = TOP + rank * ROW + HEIGHT + 12
    return svg.text(MIDDLE + GAP, y, verdict, colour=colour, size=11, bold=True)


def _arrow(source: int, to: int, left: float, right: float) -> str:
    y1, y2 = (TOP + rank * ROW + HEIGHT / 2 for rank in (source, to))
    return svg.arrow(left + 8, y1, right - 8, y2, colour=palette.rank_colour(source), width=1.6)


def cell(
    x: float,
    y: float,
    held: Number,
    *,
    width: float = CELL - 4,
    height: float = HEIGHT,
    size: float = 12,
) -> str:
    """Draw a number above a bar in the colours of the ranks whose numbers are in it."""
    ground, edge = palette.CARD, palette.MUTED
    if len(held.sources) == 1:
        edge = palette.rank_colour(held.sources[0])
        ground = palette.tint(edge, 0.84)
    bar, slot = height / 5, width / len(held.sources)
    parts = [svg.rect(x, y, width, height, ground, stroke=edge)]
    for place, source in enumerate(held.sources):
        colour = palette.rank_colour(source)
        parts.append(svg.rect(x + place * slot, y + height - bar, slot, bar, colour))
    number, middle = str(held.number), y + (height - bar + 0.72 * size) / 2
    parts.append(svg.text(x + width / 2, middle, number, anchor="middle", bold=True, size=size))
    return "".join(parts)


def _barrier(example: Example, moment: int) -> list[str]:
    """Draw ranks over time: they compute, reach the barrier, wait for the last, go on together."""
    width = svg.WIDTH - svg.MARGIN - LEFT
    last = max(LATE[: example.ranks])
    at = LEFT + last * width
    marks = [
        ("solid", palette.rank_colour(0), "computing"),
        ("solid", palette.WAIT, "waiting at the barrier"),
    ]
    parts = [svg.legend(LEFT, 90, marks)]
    for rank in range(example.ranks):
        y, colour, comes = TOP + rank * ROW, palette.rank_colour(rank), LEFT + LATE[rank] * width
        parts += [_name(rank, y), svg.rect(LEFT, y, comes - LEFT, HEIGHT, colour)]
        if moment != BEFORE:
            parts.append(svg.rect(comes, y, at - comes, HEIGHT, palette.WAIT))
        if moment == AFTER:
            parts.append(svg.rect(at + 2, y, LEFT + width - at - 2, HEIGHT, colour))
    if moment != BEFORE:
        parts.append(svg.line(at, TOP - 8, at, TOP + ROW * example.ranks - 12, width=2))
    return parts


@explorable
def collectives() -> Description:
    """Every collective, for 2 to 6 ranks: what each holds before and after, who sends to whom."""
    names, ops = tuple(model.COLLECTIVES), tuple(model.OPS)
    moments = ("before", "on the way", "after")

    def draw_moment(collective: str, moment: str, ranks: int, root: int, op: str) -> svg.Picture:
        numbers = model.counted(ranks)
        example = model.Example(collective, numbers, root, op)
        return draw(example, moments.index(moment))

    return draw_moment, {
        "collective": Choice("Collective", names, "all-reduce"),
        "moment": Choice("Moment", moments, "after"),
        "ranks": Slider("Ranks", 2, MOST, 4),
        "root": Slider("Root", 0, MOST - 1, 0, most=lambda values: values["ranks"] - 1),
        "op": Choice("Reduction", ops, "sum"),
    }
