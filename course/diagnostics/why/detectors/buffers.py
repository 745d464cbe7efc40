"""Detect the broadcast of a model's buffers."""

from collections.abc import Iterator
from typing import Self

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown

OF_DDP = "Pass `forward_sync_buffers=False` to DDP (before torch 2.13, `broadcast_buffers=False`)"


class Buffers(Cause):
    """Rank 0 sends its buffers before each forward pass."""

    info = CauseInfo(
        "buffers", "rank 0's buffers are sent to all before each forward pass", lab="08"
    )
    aspect = "buffers"

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if buffers are sent."""
        if seconds := breakdown.transfer_s("buffers"):
            line = breakdown.line("buffers")
            yield cls(breakdown, seconds / breakdown.net_s, line=line)

    @classmethod
    def is_judged(cls, breakdown: StepBreakdown) -> bool:
        """Whether a DDP module has buffers."""
        return any(ddp.buffers for ddp in breakdown.ddp)

    @property
    def cure(self) -> str:
        """Depends on what sends the buffers."""
        if not self.breakdown.ddp:
            return "Send them once, or only after they have changed; or make them smaller."
        return f"{OF_DDP} if the buffers do not change, or make them smaller."
