"""The causes that `why` can name: the base classes of their detectors."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar, Self

from course.core import words
from course.diagnostics.finding import CauseInfo, Finding
from course.diagnostics.profiling.timeline import WAITS, Slice
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.step_times import length, without_work
from course.diagnostics.why.thresholds import (
    CROWDED_FAULT_SHARE,
    FAULT_S,
    FAULT_SHARE,
    RARE_SHARE,
    SHOWN_SHARE,
    SOLE_RANK_SHARE,
)


@dataclass(frozen=True, eq=False)
class Cause:
    """A reason why a step takes longer than it must.

    Each subclass is the detector of one cause, with its name, its evidence and its cure. An
    instance is that cause as it was found in a run.

    `share` is the share of a step that a cure would save at most, 0 if the cause costs no time. If
    `cost_is_partial`, `share` is only what is seen of its cost, and 0 if nothing of it is seen.
    `rank` is the rank to blame, None if several are. `line` is the user's line, "" if none is
    known. `step_part` is the part of the step in which a straggler is late, "" for any other cause.
    """

    breakdown: StepBreakdown
    share: float
    rank: int | None = None
    line: str = ""
    step_part: str = ""

    DETECTORS: ClassVar[list[type["Cause"]]] = []  # all subclasses that have a name
    info: ClassVar[CauseInfo]
    aspect: ClassVar[str] = ""  # what it examines; called fine if no cause of this aspect is there
    is_fact: ClassVar[bool] = False  # it is true whatever the times are, and must be cured first
    cost_is_partial: ClassVar[bool] = False  # only a part of its cost is seen, or nothing
    question: ClassVar[str] = ""  # what remains undecided of it, and how to decide that
    is_tradeoff: ClassVar[bool] = False  # the script chose it to gain something: never a fault
    needs_all: ClassVar[bool] = True  # it compares ranks, so all must have reported

    def __init_subclass__(cls) -> None:
        if "info" in vars(cls):
            cls.DETECTORS.append(cls)

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause once for each place where it is found."""
        raise NotImplementedError

    @classmethod
    def is_judged(cls, breakdown: StepBreakdown) -> bool:
        """Whether it could occur in this run, and the evidence decides whether it did.

        If not, its aspect is not called fine.
        """
        return True

    @property
    def seen(self) -> str:
        """Half a sentence on how the cause shows in this run."""
        return self.info.summary

    @property
    def name(self) -> str:
        """The name of the cause."""
        return self.info.name

    @property
    def cure(self) -> str:
        """Whole sentences on what this script can do about it."""
        return self.info.cure

    @property
    def lab(self) -> str:
        """The number of the lab that teaches the cure."""
        return self.info.lab

    @property
    def waits_for_workers(self) -> bool:
        """Whether ranks wait for workers of a loader, which may in turn wait for a core."""
        return False

    @property
    def is_shown(self) -> bool:
        """Whether it is worth naming: it costs enough, it costs no time, or its cost is unknown."""
        return self.share >= SHOWN_SHARE or not self.share or self.cost_is_partial

    @property
    def least_share(self) -> float:
        """The least share of a step that makes it a fault; a crowded machine can imitate a wait."""
        doubtful = self.breakdown.is_crowded and self.waits_for_workers
        return CROWDED_FAULT_SHARE if doubtful else FAULT_SHARE

    @property
    def is_fault(self) -> bool:
        """Whether it costs enough to come first, and to count as a fault rather than a note.

        A worker that has no core keeps its rank waiting, and no clock of the rank shows why. The
        ranks' own waits for a core are the best estimate of how long that is.
        """
        saved, crowded = self.share * self.breakdown.net_s, self.breakdown.is_crowded
        if self.is_tradeoff or (not self.is_fact and saved < FAULT_S):
            return False
        if crowded and self.waits_for_workers and saved < self.breakdown.queued_s:
            return False
        return self.share >= self.least_share

    @property
    def title(self) -> str:
        """The cause in one line: 'straggler, rank 1: 70 % of a step'; its name if it costs none."""
        rank = "" if self.rank is None else f", rank {self.rank}"
        cost = f": {percent(self.share)} of a step" if self.share else ""
        return f"{self.name}{rank}{cost}"

    @property
    def location(self) -> str:
        """The part of the step in which the cause lies, and the user's line."""
        part = f"in {self.step_part}" if self.step_part else ""
        if self.step_part == "outside the step":
            part = "between steps"
        return ", ".join(filter(None, [part, f"at {self.line}" if self.line else ""]))

    @property
    def effect(self) -> str:
        """A sentence on how long a step would take without the cause, as far as that is known."""
        if self.cost_is_partial:
            return "That is the part of its cost that was seen." if self.share else ""
        if not self.share:
            return ""
        whole = self.breakdown.net_s
        short, times = whole * (1 - self.share), 1 / max(1e-3, 1 - self.share)
        return (
            f"Without it a step would take {words.duration(short)} instead of "
            f"{words.duration(whole)}: at most {times:.2g} times as fast."
        )

    @property
    def says(self) -> str:
        """The cause, where it is and what it costs: the whole text except the cure."""
        head = ", ".join(filter(None, [self.title, self.location]))
        return f"{head}. {self.seen[0].upper()}{self.seen[1:]}. {self.effect}".strip()

    @property
    def finding(self) -> Finding:
        """The cause in the form that all tools share; it is a note if it costs little."""
        return self.info.finding(
            self.says,
            self.cure,
            self.lab,
            rank=self.rank,
            where=self.line,
            note=not self.is_fault,
        )

    def plain(self) -> dict[str, object]:
        """The cause for JSON."""
        return {
            "cause": self.name,
            "rank": self.rank,
            "share": round(self.share, 4),
            "where": self.step_part or self.line or None,
            "line": self.line or None,
            "lab": self.lab,
            "cure": self.cure,
        }


class OfTraffic(Cause):
    """A cause that is one traffic of messages, by its name; the script may send them rarely."""

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if these messages take time."""
        if seconds := cls.gain_s(breakdown):
            line = breakdown.line("collective", "buffers", traffic=cls.info.name)
            yield cls(breakdown, seconds / breakdown.net_s, line=line)

    @classmethod
    def gain_s(cls, breakdown: StepBreakdown) -> float:
        """Seconds per step that are saved without these messages."""
        return breakdown.transfer_s(cls.info.name)

    @property
    def messages(self) -> list[list[Slice]]:
        """The waits for these messages at its line, or at no known line, by step."""
        return [
            [
                slice_
                for slices in step
                for slice_ in slices
                if slice_.kind in WAITS and slice_.where in (self.line, "")
                if self.breakdown.traffic(slice_) == self.name
            ]
            for step in self.breakdown.sliced
        ]

    @property
    def often(self) -> str:
        """In how many steps they are sent, such as 'in 2 of 16 steps'."""
        count, steps = sum(map(bool, self.messages)), len(self.breakdown.sliced)
        return "in each step" if count == steps else f"in {count} of {words.plural(steps, 'step')}"

    @property
    def is_rare(self) -> bool:
        """Whether most steps do without these messages."""
        return fmean(map(bool, self.messages)) <= RARE_SHARE

    @property
    def rarer(self) -> str:
        """The cure for messages that are rare."""
        return f"It happens only {self.often}: let it happen in fewer if the script allows that."

    @property
    def is_fault(self) -> bool:
        """Whether it costs enough, and is in most steps."""
        return super().is_fault and not self.is_rare


class OwnWork(Cause):
    """A cause that is one `kind` of the ranks' own work, and costs what steps save without it."""

    needs_all = False
    kind: ClassVar[str]
    ignores_longest_step: ClassVar[bool] = False  # leave out the step with most of it, as chance

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if a step would be shorter without this work."""
        gain_s = cls.gain_s(breakdown)
        if gain_s > 0:
            line = breakdown.line(cls.kind)
            yield cls(breakdown, gain_s / breakdown.net_s, cls.whose(breakdown), line)

    @classmethod
    def gain_s(cls, breakdown: StepBreakdown) -> float:
        """Seconds per step that are saved without it; a late rank's excess is the straggler's."""
        times = breakdown.balanced_times
        if cls.ignores_longest_step:
            most = max(times, key=lambda step: max(step.own(cls.kind)))
            times = [step for step in times if step is not most]
        return length(times) - length(without_work(times, cls.kind))

    @classmethod
    def whose(cls, breakdown: StepBreakdown) -> int | None:
        """The rank that does nearly all of this work; None if several do it."""
        times = breakdown.balanced_times
        by_step = [[step.weight * seconds for seconds in step.own(cls.kind)] for step in times]
        totals = [sum(column) for column in zip(*by_step, strict=True)]
        most = max(range(len(totals)), key=totals.__getitem__)
        alone = len(totals) > 1 and totals[most] > SOLE_RANK_SHARE * sum(totals)
        return breakdown.reports[most].rank if alone else None


def percent(share: float) -> str:
    """A share in words: '31 %'."""
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"
