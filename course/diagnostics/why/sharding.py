"""Decide from the checksums of samples whether ranks draw the same samples."""

from itertools import combinations, pairwise
from statistics import fmean

from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.thresholds import (
    DISTINCT_SHARE,
    MIN_SHARED_SAMPLES,
    SAME_BATCHES,
    SHARED_SHARE,
)
from course.diagnostics.why.traffic import is_sum_in_forward


def draw_same_samples(breakdown: StepBreakdown) -> bool | None:
    """Whether ranks draw the same samples; None if the evidence cannot decide it.

    The checksums of the samples from their loaders must be the same. So must the chosen indices, if
    they are known, because a data set may contain a sample twice, and each rank may draw one of the
    two. If all ranks read the same batch, each may take a share of it. In that case their models
    get different samples.
    """
    if _share_samples(breakdown):
        return None
    drawn = [[step.rows for step in breakdown.of_rank(report)] for report in breakdown.reports]
    if not all(any(rows) for rows in drawn):
        return None
    if any(len(set(rows)) < DISTINCT_SHARE * len(rows) for steps in drawn for rows in steps):
        return None  # many samples have the same data
    chosen = all(any(step.indices for step in report.steps) for report in breakdown.reports)
    if _draw_same_batches(breakdown, "rows"):
        if all(any(step.model_rows for step in report.steps) for report in breakdown.reports):
            return _draw_same_batches(breakdown, "model_rows") and (
                not chosen or _draw_same(breakdown, "indices")
            )
        if not breakdown.ddp:
            return None
    return _draw_same(breakdown, "rows") and (not chosen or _draw_same(breakdown, "indices"))


def _share_samples(breakdown: StepBreakdown) -> bool:
    """Whether ranks must draw the same samples, because they share each one, as split layers do."""
    inside = any(is_sum_in_forward(slice_) for slice_ in breakdown.slices(["collective"]))
    return inside or any(ddp.ranks < breakdown.reports[0].world for ddp in breakdown.ddp)


def _draw_same(breakdown: StepBreakdown, field: str) -> bool:
    """Whether ranks draw the same in nearly every step, or each draws all samples in its order."""
    pairs = list(combinations(breakdown.reports, 2))
    from_all = bool(pairs) and all(_draw_from_all(one, other, field) for one, other in pairs)
    return _draw_same_batches(breakdown, field) or from_all


def _draw_same_batches(breakdown: StepBreakdown, field: str) -> bool:
    """Whether ranks draw the same in nearly every step."""
    drawn = [
        [getattr(step, field) for step in breakdown.of_rank(report)] for report in breakdown.reports
    ]
    shares: list[float] = []
    for one, other in combinations(drawn, 2):
        both = [set(a) == set(b) for a, b in zip(one, other, strict=True) if a and b]
        shares += [fmean(both)] if both else []
    return bool(shares) and min(shares) >= SAME_BATCHES


def _draw_from_all(one: RankReport, other: RankReport, field: str) -> bool:
    """Whether two ranks share as many samples of an epoch as if both drew from all samples."""
    mine, theirs = _samples_of_epoch(one, field), _samples_of_epoch(other, field)
    size = one.dataset_size
    expected = len(mine) * len(theirs) / max(size, 1)
    if not size or expected < MIN_SHARED_SAMPLES:
        return False
    return len(mine & theirs) >= SHARED_SHARE * expected


def _samples_of_epoch(report: RankReport, field: str) -> set[int]:
    """The samples that a rank drew in the longest watched part of an epoch."""
    first = [n for n, step in enumerate(report.steps) if step.starts_epoch]
    bounds = [-1, *first, len(report.steps)]
    parts = [report.steps[begin + 1 : end] for begin, end in pairwise(bounds)]
    longest = max(parts, key=len)
    return {mark for step in longest for mark in getattr(step, field)}
