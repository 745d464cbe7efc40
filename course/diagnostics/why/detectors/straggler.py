"""Detect a rank that is later than the others."""

from collections.abc import Iterator
from typing import Self

from course.diagnostics.finding import CauseInfo
from course.diagnostics.profiling.timeline import PARTS
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.thresholds import CROWDED_FAULT_SHARE, FAULT_SHARE

ALIKE = (
    "Give all ranks the same work in each step: split the samples so that their batches are of "
    "equal length, and use equal machines."
)


class Straggler(Cause):
    """The ranks wait for one rank: nearly always for the same one, or for each in turn."""

    info = CauseInfo("straggler", "one rank is later than the others, which wait for it", lab="08")
    aspect = "the ranks' pace"

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if one rank is late, or ranks that must meet anyway are late in turns."""
        late = breakdown.late
        if late:
            rank = breakdown.reports[late.index].rank
            line = breakdown.line(late.kind, index=late.index)
            yield cls(breakdown, late.gain_s / breakdown.net_s, rank, line, PARTS[late.kind])
        elif (in_turns := breakdown.late_in_turns) and not breakdown.meets_needlessly:
            line = breakdown.line(in_turns.kind)
            yield cls(
                breakdown, in_turns.gain_s / breakdown.net_s, None, line, PARTS[in_turns.kind]
            )

    @property
    def least_share(self) -> float:
        """On a crowded machine a large one, because a rank without a core is late."""
        return CROWDED_FAULT_SHARE if self.breakdown.is_crowded else FAULT_SHARE

    @property
    def waits_for_workers(self) -> bool:
        """Whether the rank is late because its loader is."""
        return self.step_part == PARTS["input"] and self.breakdown.has_workers

    @property
    def seen(self) -> str:
        """Half a sentence on whether it is always the same rank."""
        if self.rank is None:
            return "in each step the others wait for one rank, each time for another"
        return self.info.summary

    @property
    def cure(self) -> str:
        """Depends on the part of the step in which the rank is late."""
        if self.rank is None:
            return ALIKE
        if self.step_part == "outside the step":
            place = f"at {self.line} " if self.line else ""
            return (
                f"Look at what rank {self.rank} does {place}and the others do not: remove it, "
                "do it in fewer steps, or give each rank a part of it."
            )
        if self.step_part == "input":
            return (
                f"Look at why rank {self.rank} loads more slowly: longer samples, a slower disk, "
                "or fewer workers. Split the samples so that all ranks load equally much in a step."
            )
        return ALIKE
