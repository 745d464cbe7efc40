"""Describe a typical step of each rank, for the picture and for other programs."""

from dataclasses import asdict, dataclass, replace
from statistics import median_low
from typing import Any

from course.diagnostics.profiling.timeline import WAITS, Slice
from course.diagnostics.why import epochs
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.thresholds import SHORT_SEGMENT


@dataclass(frozen=True)
class LaneSegment:
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


def lanes(breakdown: StepBreakdown) -> dict[int, list[LaneSegment]]:
    """The segments of every rank in a step of median length, by the number of the rank."""
    number = _typical(breakdown)
    steps = [report.steps[number] for report in breakdown.reports]
    begin = min(step.start for step in steps)
    local = {report.local for report in breakdown.reports}
    if len(local) > 1 or min(local) < len(steps):
        begin = None  # the ranks are on several machines, each with its own clock
    by_rank = {}
    for index, (report, step) in enumerate(zip(breakdown.reports, steps, strict=True)):
        zero = step.start if begin is None else begin
        short = SHORT_SEGMENT * (step.end - step.start)
        last = _rank_waited_for(breakdown, number, index)
        segments = [
            segment
            for slice_ in breakdown.sliced[number][index]
            for segment in _divide(breakdown, number, index, slice_, last)
        ]
        hidden = [
            LaneSegment("hidden communication", pass_.end - pass_.overlap, pass_.end)
            for pass_ in step.passes
            if pass_.overlap > short
        ]
        by_rank[report.rank] = [
            replace(segment, start=segment.start - zero, end=segment.end - zero)
            for segment in (*_merged(segments, short), *hidden)
        ]
    return by_rank


def _typical(breakdown: StepBreakdown) -> int:
    """The index of the step of median length, among those that begin no epoch."""
    starts = epochs.starts_epoch(breakdown.reports)
    steps = breakdown.of_rank(breakdown.reports[0])
    lengths = {n: step.end - step.start for n, step in enumerate(steps) if not starts[n]}
    lengths = lengths or {n: step.end - step.start for n, step in enumerate(steps)}
    middle = median_low(lengths.values())
    return next(n for n, length in lengths.items() if length == middle)


def plain(segments: dict[int, list[LaneSegment]]) -> dict[str, list[dict[str, Any]]]:
    """The segments for JSON, with times rounded to a microsecond."""
    return {
        str(rank): [
            asdict(segment) | {"start": round(segment.start, 6), "end": round(segment.end, 6)}
            for segment in lane
        ]
        for rank, lane in segments.items()
    }


def _rank_waited_for(breakdown: StepBreakdown, number: int, index: int) -> int | None:
    """The rank with most work in a step, by its number; None if it is the rank at `index`."""
    work = breakdown.times[number].work
    last = work.index(max(work))
    return None if last == index else breakdown.reports[last].rank


def _divide(
    breakdown: StepBreakdown, number: int, index: int, slice_: Slice, last: int | None
) -> list[LaneSegment]:
    """Divide a slice into segments.

    A wait is first ``waiting`` for the last rank and then ``communication``. In own work, the time
    without a core becomes a separate segment, since no share counts it.
    """
    if slice_.kind == "watching":
        return []
    if slice_.kind not in WAITS:
        kind = "search for unused parameters" if slice_.kind == "search" else slice_.kind
        cut = max(slice_.start, slice_.end - slice_.queued)
        return [
            LaneSegment(kind, slice_.start, cut, slice_.where),
            LaneSegment("waiting for a core", cut, slice_.end, slice_.where),
        ]
    waited = sum(breakdown.times[number].ranks[index].waits.values())
    share = 1 - breakdown.times[number].total_transfer_s / waited if waited else 0.0
    cut = slice_.start + share * (slice_.end - slice_.start)
    return [
        LaneSegment("waiting", slice_.start, cut, slice_.where, last),
        LaneSegment("communication", cut, slice_.end, slice_.where),
    ]


def _merged(segments: list[LaneSegment], short: float) -> list[LaneSegment]:
    """Merge neighbours of one kind, and merge segments too short to see into the one before."""
    merged: list[LaneSegment] = []
    for segment in segments:
        same = merged and merged[-1].kind == segment.kind
        if merged and (same or segment.end - segment.start < short):
            merged[-1] = replace(merged[-1], end=segment.end)
        elif segment.end > segment.start:
            merged.append(segment)
    return merged
