"""Draws a run after one of its rounds: who sent what to whom, and what each rank now holds."""

import math
from collections.abc import Iterator
from itertools import pairwise

from course.commands.web.ring import check, hang
from course.commands.web.ring.messages import Post
from course.commands.web.ring.replay import Run
from course.commands.web.ring.tensors import shown
from course.drawing import palette, svg

WIDTH = 480  # so narrow that its numbers can be read on a phone
CENTRE, RADII, NODE = (240, 122), (130, 52), 15  # of the ellipse on which the ranks stand
TABLE_Y, ROW, NAME_WIDTH = 228, 34, 60
LETTERS = "ABCDEFGHIJ"
MOST_DIGITS = 6  # of a number in its cell


def draw(run: Run, round: int) -> svg.Picture:
    """The state after `round` rounds; after the last one, also who waits for whom."""
    last = round == run.world.rounds
    ranks, length = run.world.size, len(run.vectors[0])
    sent = run.world.sent(round) if round else []
    states = [run.vectors[r] if last else run.vector(r, round) for r in range(ranks)]
    complete = sum(
        _counts(value, i, ranks) == [1] * ranks
        for vector in states
        for i, value in enumerate(vector)
    )
    parts = [*_ring(run, sent, waits=last), *_table(run, states, sent)]
    title = f"Round {round} of {run.world.rounds}" if round else "Before"
    if last and run.waits:
        title = _all_or_some(len(run.waits), ranks)
    return svg.card(
        TABLE_Y + ranks * ROW + 18,
        f"{title}: {complete} of {ranks * length} sums complete",
        parts,
        width=WIDTH,
        alt=" ".join(_told(run, sent, states, last)),
    )


def _all_or_some(waiting: int, ranks: int) -> str:
    return "All wait forever" if waiting == ranks else f"{waiting} ranks wait forever"


def _told(run: Run, sent: list[Post], states: list[list[float]], last: bool) -> Iterator[str]:
    """The state in words."""
    for post in sent:
        yield f"Rank {post.rank} sends {_named(post, run)} to rank {post.peer}."
    for rank, vector in enumerate(states):
        yield f"Rank {rank} holds {shown(vector)}."
    if last:
        for rank in sorted(run.waits):
            yield f"Rank {rank} waits for rank {', '.join(map(str, hang.waits_for(run, rank)))}."


def _spot(rank: int, ranks: int) -> tuple[float, float]:
    """Where a rank stands, rank 0 at the top."""
    angle = 2 * math.pi * rank / ranks
    return CENTRE[0] + RADII[0] * math.sin(angle), CENTRE[1] - RADII[1] * math.cos(angle)


def _ring(run: Run, sent: list[Post], waits: bool) -> list[str]:
    """The ranks, the messages of this round, and dashed, who waits for whom."""
    ranks = run.world.size
    parts = []
    pairs = {(post.peer, post.rank) for post in sent}
    for post in sent:
        aside = 6 if (post.rank, post.peer) in pairs else 0
        start, end = _ends(_spot(post.rank, ranks), _spot(post.peer, ranks), aside)
        colour = palette.rank_colour(post.rank)
        parts.append(svg.arrow(*start, *end, colour=colour, width=2.5))
        x, y = (start[axis] + 0.42 * (end[axis] - start[axis]) for axis in (0, 1))
        label = _named(post, run).removeprefix("chunk ")
        half = svg.text_width(label, 12) / 2 + 5
        paper = (x - half, y - 9, 2 * half, 18, palette.CARD)
        parts.append(svg.rect(*paper, rx=4, stroke=colour, stroke_width=1))
        parts.append(svg.text(x, y + 4, label, anchor="middle"))
    if waits:
        for rank in sorted(run.waits):
            for other in hang.waits_for(run, rank):
                start, end = _ends(_spot(rank, ranks), _spot(other, ranks), aside=-6)
                parts.append(svg.line(*start, *end, colour=palette.ALARM, width=2, dash="5 4"))
                tip = [start[axis] + 0.97 * (end[axis] - start[axis]) for axis in (0, 1)]
                parts.append(svg.arrow(*tip, *end, colour=palette.ALARM, width=2))
    for rank in range(ranks):
        x, y = _spot(rank, ranks)
        ground = palette.rank_colour(rank)
        parts.append(svg.circle(x, y, NODE, ground))
        style = {"anchor": "middle", "bold": True, "size": 13, "colour": palette.on(ground)}
        parts.append(svg.text(x, y + 4.5, str(rank), **style))
    return parts


Spot = tuple[float, float]


def _ends(source: Spot, target: Spot, aside: float) -> tuple[Spot, Spot]:
    """The ends of an arrow from rim to rim, `aside` pixels to the right of the straight way."""
    (x1, y1), (x2, y2) = source, target
    length = math.hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    dx, dy, rim = -uy * aside, ux * aside, NODE + 3
    return (x1 + ux * rim + dx, y1 + uy * rim + dy), (x2 - ux * rim + dx, y2 - uy * rim + dy)


def _chunks(run: Run) -> list[tuple[int, int]]:
    """Where each chunk begins and ends, cut as `tensor_split` cuts."""
    ranks, length = run.world.size, len(run.vectors[0])
    small, more = divmod(length, ranks)
    starts = [chunk * small + min(chunk, more) for chunk in range(ranks + 1)]
    return list(pairwise(starts))


def _named(post: Post, run: Run) -> str:
    """What a message carries."""
    chunks = _chunks(run)
    if post.place in chunks:
        return f"chunk {LETTERS[chunks.index(post.place)]}"
    if post.size == len(run.vectors[0]):
        return "all"
    return f"{post.size} number{'s' * (post.size != 1)}"


def _table(run: Run, states: list[list[float]], sent: list[Post]) -> list[str]:
    """A row per rank, a cell per number."""
    ranks, length = run.world.size, len(states[0])
    wide = (WIDTH - 2 * svg.MARGIN - NAME_WIDTH) / length
    left = svg.MARGIN + NAME_WIDTH
    parts = []
    for chunk, (start, end) in enumerate(_chunks(run)):
        middle = left + (start + end) / 2 * wide
        style = {"anchor": "middle", "colour": palette.MUTED}
        parts.append(svg.text(middle, TABLE_Y - 8, LETTERS[chunk], **style))
    new = {(post.peer, i) for post in sent if post.place for i in range(*post.place)}
    for rank, vector in enumerate(states):
        y, colour = TABLE_Y + rank * ROW, palette.rank_colour(rank)
        name = svg.text(svg.MARGIN, y + ROW / 2 + 3, f"Rank {rank}", colour=colour, bold=True)
        parts.append(name)
        for i, value in enumerate(vector):
            gap = 2 if i in {start for start, _ in _chunks(run)} else 0
            box = (left + i * wide + gap, y, wide - gap)
            parts += _cell(value, i, ranks, box, (rank, i) in new)
    return parts


def _counts(value: float, i: int, ranks: int) -> list[int] | None:
    return check.terms(value, i, ranks)


def _cell(
    value: float, i: int, ranks: int, box: tuple[float, float, float], new: bool
) -> list[str]:
    """One number, above a stripe for each rank whose number is in it."""
    x, y, wide, tall = box[0] + 1, box[1] + 2, box[2] - 2, ROW - 4
    counts = _counts(value, i, ranks)
    complete = counts == [1] * ranks
    strange = counts is None or max(counts) > 1
    written = "?" if math.isnan(value) else shown(value)
    if len(written) > MOST_DIGITS:
        written = f"{value:.0e}"
    parts = [svg.rect(x, y, wide, tall, palette.WAIT)]
    for rank, count in enumerate(counts or []):
        if count:
            stripe = (x + rank * wide / ranks, y + tall - 6, wide / ranks, 6)
            parts.append(svg.rect(*stripe, palette.rank_colour(rank)))
    colour = palette.ALARM if strange else palette.INK
    parts.append(
        svg.text(x + wide / 2, y + 17, written, anchor="middle", colour=colour, bold=complete)
    )
    if new or complete:
        edge = palette.INK if new else palette.GOOD
        parts.append(svg.rect(x, y, wide, tall, "none", stroke=edge, stroke_width=2))
    return parts
