"""Find the rank for which the others wait, because it has more work than they have."""

from dataclasses import dataclass

from course.diagnostics.profiling.timeline import OWN
from course.diagnostics.why.step_times import StepTimes, evened, length, levelled, mean, without
from course.diagnostics.why.thresholds import EXCESS_SHARE, IN_TURNS, MIN_LATENESS, STEADY_SHARE


@dataclass(frozen=True)
class Late:
    """The index of the late rank, and the kind of work in which it exceeds the others most.

    `even` has the steps without its excess, which are shorter by `gain`.
    """

    index: int
    kind: str
    gain: float  # seconds per step
    even: list[StepTimes]


def late(times: list[StepTimes]) -> Late | None:
    """The rank for which the others nearly always wait; None if there is no such rank.

    It need not be late in each step: it may validate in every tenth step. The step in which ranks
    differ most may be chance, so the other steps must show the same.
    """
    ranks = range(len(times[0].ranks))
    if len(ranks) < 2:
        return None
    most = max(times, key=lambda step: step.weight * step.spread())
    usual = [step for step in times if step is not most]
    if not any(step.weight for step in usual):
        return None
    index = max(ranks, key=lambda rank: mean(usual, lambda step: step.ranks[rank].work))
    if _ahead(usual, index) < STEADY_SHARE:
        return None
    excess = {kind: _excess(times, index, kind) for kind in OWN}
    kind = max(excess, key=excess.__getitem__)
    even, usually_even = times, usual
    for work in OWN:
        if excess[work] >= EXCESS_SHARE * excess[kind]:
            even, usually_even = (evened(some, index, work) for some in (even, usually_even))
    usual_gain = length(usual) - length(usually_even)
    if kind == "saving" or usual_gain < MIN_LATENESS * length(usual):
        return None
    return Late(index, kind, length(times) - length(even), even)


@dataclass(frozen=True)
class Turns:
    """The kind of work by which ranks are late in turns, and the steps as if none were late."""

    kind: str
    gain: float  # seconds per step
    even: list[StepTimes]


def turns(times: list[StepTimes]) -> Turns | None:
    """The lateness of ranks that are late in turns; None if it is small."""
    counted = without(times, "saving")
    gain = mean(counted, lambda step: step.spread())
    if gain < IN_TURNS * length(times):
        return None
    kind = max(OWN, key=lambda kind: mean(counted, lambda step: step.spread(kind)))
    return Turns(kind, gain, levelled(times, kind))


def _excess(times: list[StepTimes], index: int, kind: str) -> float:
    """The seconds by which a rank does more of a kind of work than the others."""
    return mean(times, lambda step: step.ranks[index].own[kind] - step.others(index, kind))


def _ahead(times: list[StepTimes], index: int) -> float:
    """The share of all lateness that falls in steps where this rank is last."""
    ahead = whole = 0.0
    for step in times:
        spread = step.weight * step.spread()
        whole += spread
        if step.ranks[index].work >= max(mine.work for mine in step.ranks):
            ahead += spread
    return ahead / (whole or 1)
