"""Detect messages of the script itself that make the ranks wait for one another."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Self

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown


class Synchronization(Cause):
    """The script sends barriers, objects, or numbers such as a loss or a flag."""

    info = CauseInfo(
        "synchronization", "the script itself makes the ranks meet in each step", lab="02"
    )
    aspect = "synchronization"

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if these messages take time, or cause waiting of their own."""
        seconds = breakdown.transfer_s(cls.info.name)
        if breakdown.late_in_turns and breakdown.meets_needlessly:
            seconds += breakdown.late_in_turns.gain_s
        if seconds:
            line = breakdown.line("collective", traffic=cls.info.name)
            yield cls(breakdown, seconds / breakdown.net_s, line=line)

    @property
    def cure(self) -> str:
        """Depends on the call that takes most time."""
        seconds: defaultdict[str, float] = defaultdict(float)
        for slice_ in self.breakdown.collectives(self.name):
            seconds[slice_.name] += slice_.seconds
        call = max(seconds, key=seconds.__getitem__, default="")
        if "barrier" in call:
            return "Remove the barrier: the ranks meet anyway when they average gradients."
        if "object" in call:
            return (
                "Objects are pickled and sent in several messages: send a tensor of numbers, and "
                "only once in many steps."
            )
        if self.breakdown.meets_needlessly:
            return (
                f"Call the {call or 'collective'} once in many steps: between two such meetings a "
                "rank that is late in one step and early in another keeps no other waiting."
            )
        return "Add up numbers such as the loss on each rank, and reduce them once in many steps."
