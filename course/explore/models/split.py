"""A network split by data or by layers: what each rank computes, when, and how long it waits."""

from dataclasses import dataclass

from course.core import CourseError

BACKWARD = 2.0  # times the forward pass: gradients of the inputs and of the weights


@dataclass(frozen=True)
class Piece:
    """One stretch of computing on a rank: the forward or backward pass of one part of the batch."""

    phase: str  # forward or backward
    part: int
    start: float
    end: float


def by_data(ranks: int) -> list[list[Piece]]:
    """Every rank has all layers and its share of the batch.

    One unit of time is the forward pass of the whole batch through all layers.
    """
    share = 1 / ranks
    return [
        [Piece("forward", rank, 0, share), Piece("backward", rank, share, share * (1 + BACKWARD))]
        for rank in range(ranks)
    ]


def by_layers(ranks: int, parts: int) -> list[list[Piece]]:
    """Rank r has the r-th share of the layers; all `parts` of the batch go forward, then backward.

    Sending costs nothing here. The schedule is that of Huang et al. 2019, "GPipe". Raises
    `CourseError` if there are no parts.
    """
    if min(ranks, parts) < 1:
        raise CourseError("A pipeline has at least one rank, and the batch at least one part.")
    slot = 1 / ranks / parts
    turn = (ranks + parts - 1) * slot  # when the last rank ends its last forward pass
    pieces: list[list[Piece]] = []
    for rank in range(ranks):
        ahead = [
            Piece("forward", k, (rank + k) * slot, (rank + k + 1) * slot) for k in range(parts)
        ]
        back = []
        for place, k in enumerate(reversed(range(parts))):
            start = turn + (ranks - 1 - rank + place) * slot * BACKWARD
            back.append(Piece("backward", k, start, start + slot * BACKWARD))
        pieces.append(ahead + back)
    return pieces


def duration(pieces: list[list[Piece]]) -> float:
    """The time at which the last rank has finished."""
    return max(piece.end for rank in pieces for piece in rank)


def idle(pieces: list[list[Piece]]) -> float:
    """The share of all ranks' time in which they compute nothing, 0 to 1."""
    busy = sum(piece.end - piece.start for rank in pieces for piece in rank)
    return 1 - busy / (duration(pieces) * len(pieces))
