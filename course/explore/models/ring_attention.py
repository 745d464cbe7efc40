"""Attention of a sequence that is split over a ring of ranks: who computes which scores, and when.

The sequence is cut into two pieces for each rank, and the scores into a square for each pair of
pieces. Keys and values move to the next rank in every round; sending costs nothing here. A rank
computes a rectangle of squares, as lab 13's `attend` does: the queries that see some key, and the
keys that some query sees.
"""

from course.core import CourseError

IN_ORDER, ZIGZAG = "in order", "zigzag"
ORDERS = (IN_ORDER, ZIGZAG)
Square = tuple[int, int]  # the piece of the queries, and the piece of the keys
BLOCK = 4  # squares without a mask: two pieces of queries by two pieces of keys


def pieces(order: str, ranks: int) -> list[Square]:
    """The two pieces that each rank holds; raises `CourseError` if there is no rank."""
    if ranks < 1:
        raise CourseError("A ring has at least one rank.")
    if order == ZIGZAG:
        return [(rank, 2 * ranks - 1 - rank) for rank in range(ranks)]
    return [(2 * rank, 2 * rank + 1) for rank in range(ranks)]


def owner(rank: int, turn: int, ranks: int) -> int:
    """The rank whose keys and values a rank holds in round `turn`, counted from 0."""
    return (rank - turn) % ranks


def squares(order: str, ranks: int, rank: int, turn: int, causal: bool) -> list[Square]:
    """The squares that a rank computes in round `turn`."""
    held = pieces(order, ranks)
    queries, keys = held[rank], held[owner(rank, turn, ranks)]
    return [
        (query, key)
        for query in queries
        for key in keys
        if not causal or (query >= min(keys) and key <= max(queries))
    ]


def rounds(order: str, ranks: int, causal: bool) -> list[list[float]]:
    """What each rank computes in each round, in blocks: by rank, then by round."""
    return [
        [len(squares(order, ranks, rank, turn, causal)) / BLOCK for turn in range(ranks)]
        for rank in range(ranks)
    ]


def starts(work: list[list[float]]) -> list[float]:
    """When each round begins and the last one ends; each takes as long as its slowest rank."""
    times = [0.0]
    for turn in range(len(work)):
        times.append(times[-1] + max(done[turn] for done in work))
    return times


def idle(work: list[list[float]]) -> float:
    """The share of all ranks' time in which they compute nothing, 0 to 1."""
    return 1 - sum(map(sum, work)) / (starts(work)[-1] * len(work))
