"""Weigh the steps in which an epoch begins, which are longer than the others.

The watched steps may contain too many or too few of them. So each step gets a weight, with which
these steps are as frequent in a mean as they are in the whole training.
"""

from itertools import pairwise
from statistics import fmean

from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.why.thresholds import MIN_STEPS


def starts_epoch(reports: list[RankReport]) -> list[bool]:
    """For each step in which all ranks were watched, whether a rank began an epoch."""
    count = min(len(report.steps) for report in reports)
    return [any(report.steps[n].starts_epoch for report in reports) for n in range(count)]


def weights(reports: list[RankReport]) -> list[float]:
    """The weight of each step in a mean.

    If the length of an epoch is unknown, its first step has the weight 0.
    """
    starts = starts_epoch(reports)
    first, others = starts.count(True), starts.count(False)
    if not first or others < MIN_STEPS:
        return [1.0] * len(starts)
    steps = steps_per_epoch(reports)
    weight = others / (first * (steps - 1)) if steps > 1 else 0.0
    return [weight if is_first else 1.0 for is_first in starts]


def steps_per_epoch(reports: list[RankReport]) -> float:
    """The number of steps of an epoch, from the distance of its beginnings or the loader's length.

    It is 0 if neither is known, or if the epochs of ranks that load differ in length.
    """
    starts = starts_epoch(reports)
    loading = [report for report in reports if any(step.draws for step in report.steps)]
    if any(starts_epoch([report])[: len(starts)] != starts for report in loading):
        return 0.0
    first = [n for n, is_first in enumerate(starts) if is_first]
    if len(first) > 1:
        return fmean(later - earlier for earlier, later in pairwise(first))
    loader, draws = reports[0].script.loader, sum(step.draws for step in reports[0].steps)
    if not loader or not draws:
        return 0.0
    return loader.batches * len(reports[0].steps) / draws
