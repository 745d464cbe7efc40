"""Detect messages of the script itself that make the ranks wait for one another."""

from collections import defaultdict
from itertools import chain

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import OfTraffic
from course.diagnostics.why.step_breakdown import StepBreakdown


class Synchronization(OfTraffic):
    """The script sends barriers, objects, or numbers such as a loss or a flag."""

    info = CauseInfo("synchronization", "the script itself makes the ranks meet", lab="02")
    aspect = "synchronization"

    @classmethod
    def gain_s(cls, breakdown: StepBreakdown) -> float:
        """Seconds per step of these messages, and of waiting that they alone cause."""
        lateness = breakdown.late_in_turns if breakdown.meets_needlessly else None
        return super().gain_s(breakdown) + (lateness.gain_s if lateness else 0.0)

    @property
    def seen(self) -> str:
        """Half a sentence on how often the ranks meet."""
        return f"{self.info.summary} {self.often}"

    @property
    def cure(self) -> str:
        """Depends on the call that takes most time, and on how often the ranks meet."""
        if self.is_rare:
            return self.rarer
        seconds: defaultdict[str, float] = defaultdict(float)
        for slice_ in chain.from_iterable(self.messages):
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
