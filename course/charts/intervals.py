"""Arithmetic of intervals: what is covered, what is covered by both, what only by one."""

from collections.abc import Iterable, Sequence

Interval = tuple[float, float]  # (start, end), here in ms


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same stretches of time, sorted and disjoint."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def close_pauses(
    intervals: Sequence[Interval], longest: float, breaks: Sequence[float] = ()
) -> list[Interval]:
    """Disjoint, sorted `intervals`, joined over pauses of at most `longest`.

    A pause in which a moment of `breaks` lies stays.
    """
    joined: list[Interval] = []
    for start, end in intervals:
        pause = (joined[-1][1], start) if joined else None
        if (
            pause
            and start - pause[0] <= longest
            and not any(pause[0] <= moment <= start for moment in breaks)
        ):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def intersection(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    """What two lists of disjoint, sorted intervals have in common."""
    common, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        start, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if start < end:
            common.append((start, end))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return common


def difference(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    """What disjoint, sorted `first` covers outside disjoint, sorted `second`."""
    rest = []
    for start, end in first:
        for cut_start, cut_end in intersection([(start, end)], second):
            rest.append((start, cut_start))
            start = cut_end
        rest.append((start, end))
    return [(start, end) for start, end in rest if start < end]


def length(intervals: Iterable[Interval]) -> float:
    """How long disjoint intervals are together."""
    return sum(end - start for start, end in intervals)
