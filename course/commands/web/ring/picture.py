"""A picture of a run after one of its rounds: the messages, and what each rank now holds."""

import math
from collections.abc import Iterator
from itertools import pairwise

from course.commands.web.ring import check
from course.commands.web.ring.replay import Replay
from course.commands.web.ring.tensors import shown
from course.commands.web.ring.world import Post
from course.drawing import palette, svg

WIDTH = 480  # narrow, so that its numbers can be read on a phone
CENTRE, RADII, NODE = (240, 122), (130, 52), 15  # of the ellipse of ranks
TABLE_Y, ROW, NAME_WIDTH = 228, 34, 60
MAX_DIGITS = 6  # of a number in its cell
RANKS, LENGTH = check.RANKS, check.LENGTH
CHUNKS = list(pairwise(range(0, LENGTH + 1, LENGTH // RANKS)))  # where each begins and ends
LETTERS = "ABCD"  # their names
COMPLETE = [1] * RANKS  # each rank's number is in it once


def draw(run: Replay, round: int) -> svg.Picture:
    """Draw the state after `round` rounds; after the last one, also which rank waits for which."""
    last = round == run.world.rounds
    sent = run.world.sent(round) if round else []
    waits = {rank: wait.post.peer for rank, wait in sorted(run.waits.items())} if last else {}
    states = [run.vectors[rank] if last else run.vector(rank, round) for rank in range(RANKS)]
    complete = sum(
        check.terms(value, i) == COMPLETE for vector in states for i, value in enumerate(vector)
    )
    title = f"Round {round} of {run.world.rounds}" if round else "Before"
    if waits:
        title = "All wait forever" if len(waits) == RANKS else f"{len(waits)} ranks wait forever"
    return svg.card(
        TABLE_Y + RANKS * ROW + 18,
        f"{title}: {complete} of {RANKS * LENGTH} sums complete",
        [*_ring(sent, waits), *_table(states, sent)],
        width=WIDTH,
        alt=" ".join(_words(sent, states, waits)),
    )


def _words(sent: list[Post], states: list[list[float]], waits: dict[int, int]) -> Iterator[str]:
    """The state in words, for readers who cannot see the picture."""
    for post in sent:
        chunk = f"chunk {_cargo(post)}" if post.place in CHUNKS else _cargo(post)
        yield f"Rank {post.rank} sends {chunk} to rank {post.peer}."
    for rank, vector in enumerate(states):
        yield f"Rank {rank} holds {shown(vector)}."
    for rank, other in waits.items():
        yield f"Rank {rank} waits for rank {other}."


def _cargo(post: Post) -> str:
    """The contents of a message: the letter of a chunk, or the number of numbers."""
    if post.place in CHUNKS:
        return LETTERS[CHUNKS.index(post.place)]
    return "all" if post.size == LENGTH else f"{post.size} number{'s' * (post.size != 1)}"


def _spot(rank: int) -> svg.Spot:
    """The position of a rank, with rank 0 at the top."""
    angle = 2 * math.pi * rank / RANKS
    return CENTRE[0] + RADII[0] * math.sin(angle), CENTRE[1] - RADII[1] * math.cos(angle)


def _ring(sent: list[Post], waits: dict[int, int]) -> Iterator[str]:
    """The messages of this round, dashed arrows for waiting ranks, and the ranks."""
    pairs = {(post.peer, post.rank) for post in sent}
    for post in sent:
        aside = 6 if (post.rank, post.peer) in pairs else 0
        start, end = svg.rim_to_rim(_spot(post.rank), _spot(post.peer), NODE + 3, aside)
        colour = palette.rank_colour(post.rank)
        yield svg.arrow(*start, *end, colour=colour, width=2.5)
        x, y = (start[axis] + 0.42 * (end[axis] - start[axis]) for axis in (0, 1))
        half = svg.text_width(_cargo(post), 12) / 2 + 5
        paper = (x - half, y - 9, 2 * half, 18, palette.CARD)
        yield svg.rect(*paper, rx=4, stroke=colour, stroke_width=1)
        yield svg.text(x, y + 4, _cargo(post), anchor="middle")
    for rank, other in waits.items():
        start, end = svg.rim_to_rim(_spot(rank), _spot(other), NODE + 3, aside=-6)
        yield svg.line(*start, *end, colour=palette.ALARM, width=2, dash="5 4")
        tip = [start[axis] + 0.97 * (end[axis] - start[axis]) for axis in (0, 1)]
        yield svg.arrow(*tip, *end, colour=palette.ALARM, width=2)
    for rank in range(RANKS):
        (x, y), ground = _spot(rank), palette.rank_colour(rank)
        yield svg.circle(x, y, NODE, ground)
        style = {"anchor": "middle", "bold": True, "size": 13, "colour": palette.on(ground)}
        yield svg.text(x, y + 4.5, str(rank), **style)


def _table(states: list[list[float]], sent: list[Post]) -> Iterator[str]:
    """A row per rank, a cell per number, the letters of the chunks above."""
    left = svg.MARGIN + NAME_WIDTH
    width = (WIDTH - svg.MARGIN - left) / LENGTH
    for letter, (start, end) in zip(LETTERS, CHUNKS, strict=True):
        style = {"anchor": "middle", "colour": palette.MUTED}
        yield svg.text(left + (start + end) / 2 * width, TABLE_Y - 8, letter, **style)
    new = {(post.peer, i) for post in sent if post.place for i in range(*post.place)}
    for rank, vector in enumerate(states):
        y, colour = TABLE_Y + rank * ROW, palette.rank_colour(rank)
        yield svg.text(svg.MARGIN, y + ROW / 2 + 3, f"Rank {rank}", colour=colour, bold=True)
        for i, value in enumerate(vector):
            gap = 2 * any(i == start for start, _ in CHUNKS)
            yield from _cell(value, i, left + i * width + gap, y, width - gap, (rank, i) in new)


def _cell(value: float, i: int, x: float, y: float, width: float, new: bool) -> Iterator[str]:
    """One number, above a stripe for each rank whose number is in it."""
    x, y, width, height = x + 1, y + 2, width - 2, ROW - 4
    counts = check.terms(value, i)
    written = "?" if math.isnan(value) else shown(value)
    if len(written) > MAX_DIGITS:
        written = f"{value:.0e}"
    yield svg.rect(x, y, width, height, palette.WAIT)
    for rank, count in enumerate(counts or []):
        if count:
            stripe = (x + rank * width / RANKS, y + height - 6, width / RANKS, 6)
            yield svg.rect(*stripe, palette.rank_colour(rank))
    strange = counts is None or max(counts) > 1
    yield svg.text(
        x + width / 2,
        y + 17,
        written,
        anchor="middle",
        colour=palette.ALARM if strange else palette.INK,
        bold=counts == COMPLETE,
    )
    if new or counts == COMPLETE:
        edge = palette.INK if new else palette.GOOD
        yield svg.rect(x, y, width, height, "none", stroke=edge, stroke_width=2)
