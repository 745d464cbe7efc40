"""The seconds that each rank spends in a step, and how long steps are without some of its work."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import fmean, median, median_low

from course.diagnostics.profiling.timeline import OWN
from course.diagnostics.why.thresholds import CAP_IN_MEDIANS

# The kinds of traffic: the model's gradients and parameters; gradients that are averaged too early,
# because another pass follows before the step; buffers; the script's own collectives; messages from
# one rank to another.
TRAFFIC = ("gradients", "early", "buffers", "synchronization", "messages")

Seconds = dict[str, float]


@dataclass
class RankTimes:
    """One step of one rank: seconds of its `own` work by kind, and of `waits` by traffic."""

    own: Seconds = field(default_factory=lambda: dict.fromkeys(OWN, 0.0))
    waits: Seconds = field(default_factory=lambda: dict.fromkeys(TRAFFIC, 0.0))

    @property
    def work(self) -> float:
        """The seconds of all of the rank's own work."""
        return sum(self.own.values())

    def with_own(self, kind: str, seconds: float) -> "RankTimes":
        """A copy with `seconds` of one kind of work."""
        return replace(self, own=self.own | {kind: seconds})


@dataclass
class StepTimes:
    """One step of all ranks, and its weight in a mean (see `epochs`)."""

    ranks: list[RankTimes]
    weight: float = 1.0

    def transfer_s(self, traffic: str) -> float:
        """Seconds that these messages themselves take: the wait of the rank that waits least."""
        return min(mine.waits[traffic] for mine in self.ranks)

    @property
    def total_transfer_s(self) -> float:
        """Seconds that all messages themselves take."""
        return sum(self.transfer_s(traffic) for traffic in TRAFFIC)

    def spread(self, kind: str = "") -> float:
        """The seconds by which the rank with most work, or most of one kind, exceeds the mean."""
        work = [mine.own[kind] if kind else mine.work for mine in self.ranks]
        return max(work) - fmean(work)

    def others(self, rank: int, kind: str) -> float:
        """The typical seconds of a kind of work on the other ranks."""
        return median_low([mine.own[kind] for n, mine in enumerate(self.ranks) if n != rank])


def mean(times: list[StepTimes], measure: Callable[[StepTimes], float]) -> float:
    """The weighted mean over steps of the number that `measure` returns."""
    return fmean(map(measure, times), [step.weight for step in times])


def length(times: list[StepTimes]) -> float:
    """The mean length of a step: the most work of any rank, plus the messages themselves."""
    return mean(times, lambda step: max(mine.work for mine in step.ranks) + step.total_transfer_s)


def without_work(times: list[StepTimes], kind: str) -> list[StepTimes]:
    """The steps as if no rank had any work of this kind."""
    return [
        replace(step, ranks=[mine.with_own(kind, 0.0) for mine in step.ranks]) for step in times
    ]


def without_excess(times: list[StepTimes], rank: int, kind: str) -> list[StepTimes]:
    """The steps as if this rank had no more work of this kind than the others."""
    changed = []
    for step in times:
        ranks, late = list(step.ranks), step.ranks[rank]
        ranks[rank] = late.with_own(kind, min(late.own[kind], step.others(rank, kind)))
        changed.append(replace(step, ranks=ranks))
    return changed


def with_equal_work(times: list[StepTimes], kind: str) -> list[StepTimes]:
    """The steps as if, in each of them, all ranks had the mean work of this kind."""
    changed = []
    for step in times:
        seconds = fmean(mine.own[kind] for mine in step.ranks)
        changed.append(replace(step, ranks=[mine.with_own(kind, seconds) for mine in step.ranks]))
    return changed


def cap_gradients(times: list[StepTimes]) -> None:
    """Cap the time of the gradients' messages in each step at `CAP_IN_MEDIANS` times its median.

    On CPUs, the cores also carry the messages. Now and then a message waits for a core for many
    times its own length, and no thread of the script shows that.
    """
    transfers = [step.transfer_s("gradients") for step in times]
    if not any(transfers):
        return
    ceiling = CAP_IN_MEDIANS * median(filter(None, transfers))
    for step, seconds in zip(times, transfers, strict=True):
        for mine in step.ranks:
            mine.waits["gradients"] -= max(0.0, seconds - ceiling)
