"""Find the rank for which the others wait, because it has more work than they have."""

from dataclasses import dataclass

from course.diagnostics.profiling.timeline import OWN
from course.diagnostics.why.step_times import (
    StepTimes,
    length,
    mean,
    with_equal_work,
    without_excess,
    without_work,
)
from course.diagnostics.why.thresholds import EXCESS_SHARE, IN_TURNS, MIN_LATENESS, STEADY_SHARE


@dataclass(frozen=True)
class Late:
    """The index of the late rank, and the kind of work in which it exceeds the others most.

    `balanced_times` has the steps without its excess, which are shorter by `gain_s` in the mean.
    """

    index: int
    kind: str
    gain_s: float
    balanced_times: list[StepTimes]


def late(times: list[StepTimes]) -> Late | None:
    """The rank for which the others nearly always wait; None if there is no such rank.

    It need not be late in each step: it may validate in every tenth step. The step in which ranks
    differ most may be chance, so the other steps must show the same.
    """
    indices = range(len(times[0].ranks))
    if len(indices) < 2:
        return None
    widest = max(times, key=lambda step: step.weight * step.spread())
    others = [step for step in times if step is not widest]
    if not any(step.weight for step in others):
        return None
    index = max(indices, key=lambda index: mean(others, lambda step: step.work[index]))
    if _share_as_last(others, index) < STEADY_SHARE:
        return None
    excess = {kind: _excess_s(times, index, kind) for kind in OWN}
    kind = max(excess, key=excess.__getitem__)
    balanced, others_balanced = times, others
    for work in OWN:
        if excess[work] >= EXCESS_SHARE * excess[kind]:
            balanced, others_balanced = (
                without_excess(some, index, work) for some in (balanced, others_balanced)
            )
    others_gain_s = length(others) - length(others_balanced)
    if kind == "saving" or others_gain_s < MIN_LATENESS * length(others):
        return None
    return Late(index, kind, length(times) - length(balanced), balanced)


@dataclass(frozen=True)
class LateInTurns:
    """The kind of work by which ranks are late in turns, and the steps as if none were late."""

    kind: str
    gain_s: float
    balanced_times: list[StepTimes]


def late_in_turns(times: list[StepTimes]) -> LateInTurns | None:
    """The lateness of ranks that are late in turns; None if it is small."""
    counted = without_work(times, "saving")
    gain_s = mean(counted, lambda step: step.spread())
    if gain_s < IN_TURNS * length(times):
        return None
    kind = max(OWN, key=lambda kind: mean(counted, lambda step: step.spread(kind)))
    return LateInTurns(kind, gain_s, with_equal_work(times, kind))


def _excess_s(times: list[StepTimes], index: int, kind: str) -> float:
    """The seconds by which a rank does more of a kind of work than the others."""
    return mean(times, lambda step: step.own(kind)[index] - step.others(index, kind))


def _share_as_last(times: list[StepTimes], index: int) -> float:
    """The share of all lateness that falls in steps where this rank is last."""
    as_last = whole = 0.0
    for step in times:
        spread = step.weight * step.spread()
        whole += spread
        if step.work[index] >= max(step.work):
            as_last += spread
    return as_last / (whole or 1)
