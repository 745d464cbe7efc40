"""Describe a typical step of each rank, for the picture and for other programs."""

from dataclasses import asdict, dataclass, replace
from statistics import median_low
from typing import Any

from course.diagnostics.profiling.timeline import WAITS, Slice
from course.diagnostics.why import epochs
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.thresholds import SHORT_STRETCH


@dataclass(frozen=True)
class Stretch:
    """What a rank does from `start` to `end`, in seconds since the step began on the first rank.

    `kind` is a kind of own work, ``waiting for a core``, ``communication`` (exposed), ``hidden
    communication`` (while the rank computes) or ``waiting``. In the last case `rank` is the rank
    that it waits for.
    """

    kind: str
    start: float
    end: float
    where: str = ""
    rank: int | None = None


def lanes(breakdown: StepBreakdown) -> dict[int, list[Stretch]]:
    """The stretches of every rank in a step of median length, by the number of the rank."""
    number = _typical(breakdown)
    steps = [rank.steps[number] for rank in breakdown.ranks]
    begin = min(step.start for step in steps)
    if len({rank.local for rank in breakdown.ranks}) > 1 or breakdown.ranks[0].local < len(steps):
        begin = None  # the ranks are on several machines, each with its own clock
    by_rank = {}
    for index, (rank, step) in enumerate(zip(breakdown.ranks, steps, strict=True)):
        zero = step.start if begin is None else begin
        short = SHORT_STRETCH * (step.end - step.start)
        last = _rank_waited_for(breakdown, number, index)
        stretches = [
            stretch
            for slice_ in breakdown.sliced[number][index]
            for stretch in _divide(breakdown, number, index, slice_, last)
        ]
        hidden = [
            Stretch("hidden communication", pass_.end - pass_.overlap, pass_.end)
            for pass_ in step.passes
            if pass_.overlap > short
        ]
        by_rank[rank.rank] = [
            replace(stretch, start=stretch.start - zero, end=stretch.end - zero)
            for stretch in (*_merged(stretches, short), *hidden)
        ]
    return by_rank


def _typical(breakdown: StepBreakdown) -> int:
    """The index of the step of median length, among those that begin no epoch."""
    starts = epochs.starts_epoch(breakdown.ranks)
    steps = breakdown.of_rank(breakdown.ranks[0])
    lengths = {n: step.end - step.start for n, step in enumerate(steps) if not starts[n]}
    lengths = lengths or {n: step.end - step.start for n, step in enumerate(steps)}
    middle = median_low(lengths.values())
    return next(n for n, length in lengths.items() if length == middle)


def plain(stretches: dict[int, list[Stretch]]) -> dict[str, list[dict[str, Any]]]:
    """The stretches for JSON, with times rounded to a microsecond."""
    return {
        str(rank): [
            asdict(stretch) | {"start": round(stretch.start, 6), "end": round(stretch.end, 6)}
            for stretch in lane
        ]
        for rank, lane in stretches.items()
    }


def _rank_waited_for(breakdown: StepBreakdown, number: int, index: int) -> int | None:
    """The rank with most work in a step, by its number; None if it is the rank at `index`."""
    times = breakdown.times[number].ranks
    last = max(range(len(times)), key=lambda rank: times[rank].work)
    return None if last == index else breakdown.ranks[last].rank


def _divide(
    breakdown: StepBreakdown, number: int, index: int, slice_: Slice, last: int | None
) -> list[Stretch]:
    """Divide a slice into stretches.

    A wait is first ``waiting`` for the last rank and then ``communication``. In own work, the time
    without a core becomes a separate stretch, since no share counts it.
    """
    if slice_.kind == "watching":
        return []
    if slice_.kind not in WAITS:
        kind = "search for unused parameters" if slice_.kind == "search" else slice_.kind
        cut = max(slice_.start, slice_.end - slice_.queued)
        return [
            Stretch(kind, slice_.start, cut, slice_.where),
            Stretch("waiting for a core", cut, slice_.end, slice_.where),
        ]
    mine = sum(breakdown.times[number].ranks[index].waits.values())
    share = 1 - breakdown.times[number].total_transfer_s / mine if mine else 0.0
    cut = slice_.start + share * (slice_.end - slice_.start)
    return [
        Stretch("waiting", slice_.start, cut, slice_.where, last),
        Stretch("communication", cut, slice_.end, slice_.where),
    ]


def _merged(stretches: list[Stretch], short: float) -> list[Stretch]:
    """Merge neighbours of one kind, and merge stretches too short to see into the one before."""
    merged: list[Stretch] = []
    for stretch in stretches:
        same = merged and merged[-1].kind == stretch.kind
        if merged and (same or stretch.end - stretch.start < short):
            merged[-1] = replace(merged[-1], end=stretch.end)
        elif stretch.end > stretch.start:
            merged.append(stretch)
    return merged
