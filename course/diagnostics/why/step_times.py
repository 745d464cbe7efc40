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
        return min(rank_times.waits[traffic] for rank_times in self.ranks)

    @property
    def total_transfer_s(self) -> float:
        """Seconds that all messages themselves take."""
        return sum(self.transfer_s(traffic) for traffic in TRAFFIC)

    @property
    def work(self) -> list[float]:
        """The seconds of each rank's own work."""
        return [rank_times.work for rank_times in self.ranks]

    def own(self, kind: str) -> list[float]:
        """The seconds of each rank's own work of one kind."""
        return [rank_times.own[kind] for rank_times in self.ranks]

    def spread(self, kind: str = "") -> float:
        """The seconds by which the rank with most work, or most of one kind, exceeds the mean."""
        work = self.own(kind) if kind else self.work
        return max(work) - fmean(work)

    def others(self, index: int, kind: str) -> float:
        """The typical seconds of a kind of work on the other ranks."""
        own = self.own(kind)
        return median_low(own[:index] + own[index + 1 :])


def mean(times: list[StepTimes], measure: Callable[[StepTimes], float]) -> float:
    """The weighted mean over steps of the number that `measure` returns."""
    return fmean(map(measure, times), [step.weight for step in times])


def length(times: list[StepTimes]) -> float:
    """The mean length of a step: the most work of any rank, plus the messages themselves."""
    return mean(times, lambda step: max(step.work) + step.total_transfer_s)


def without_work(times: list[StepTimes], kind: str) -> list[StepTimes]:
    """The steps as if no rank had any work of this kind."""
    return [
        replace(step, ranks=[rank_times.with_own(kind, 0.0) for rank_times in step.ranks])
        for step in times
    ]


def without_excess(times: list[StepTimes], index: int, kind: str) -> list[StepTimes]:
    """The steps as if this rank had no more work of this kind than the others."""
    changed = []
    for step in times:
        ranks, late = list(step.ranks), step.ranks[index]
        ranks[index] = late.with_own(kind, min(late.own[kind], step.others(index, kind)))
        changed.append(replace(step, ranks=ranks))
    return changed


def with_equal_work(times: list[StepTimes], kind: str) -> list[StepTimes]:
    """The steps as if, in each of them, all ranks had the mean work of this kind."""
    changed = []
    for step in times:
        seconds = fmean(step.own(kind))
        changed.append(
            replace(step, ranks=[rank_times.with_own(kind, seconds) for rank_times in step.ranks])
        )
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
        for rank_times in step.ranks:
            rank_times.waits["gradients"] -= max(0.0, seconds - ceiling)
