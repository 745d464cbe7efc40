"""Arithmetic of intervals: union, intersection, difference and length."""

from collections.abc import Iterable, Sequence

Interval = tuple[float, float]  # (start, end), here in ms


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge intervals that overlap or touch; the result is sorted and disjoint."""
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
    """Join disjoint, sorted `intervals` over pauses of at most `longest`.

    A pause that contains one of the moments in `breaks` stays open.
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
    """The overlap of two lists of disjoint, sorted intervals."""
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
    """The parts of `first` outside `second`; both are disjoint and sorted."""
    rest = []
    for start, end in first:
        for cut_start, cut_end in intersection([(start, end)], second):
            rest.append((start, cut_start))
            start = cut_end
        rest.append((start, end))
    return [(start, end) for start, end in rest if start < end]


def length(intervals: Iterable[Interval]) -> float:
    """The total length of disjoint intervals."""
    return sum(end - start for start, end in intervals)
