"""Detect the broadcast of a model's buffers."""

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import OfTraffic
from course.diagnostics.why.step_breakdown import StepBreakdown

OF_DDP = "Pass `forward_sync_buffers=False` to DDP (before torch 2.13, `broadcast_buffers=False`)"


class Buffers(OfTraffic):
    """DDP or the script sends the model's buffers."""

    info = CauseInfo("buffers", "the ranks send the model's buffers to one another", lab="08")
    aspect = "buffers"

    @classmethod
    def is_judged(cls, breakdown: StepBreakdown) -> bool:
        """Whether a DDP module has buffers."""
        return any(ddp.buffers for ddp in breakdown.ddp)

    @property
    def by_ddp(self) -> bool:
        """Whether DDP broadcasts them, rather than the script itself."""
        return bool(self.breakdown.ddp) and all(
            (slice_.name, slice_.within) == ("broadcast", "forward")
            for step in self.messages
            for slice_ in step
        )

    @property
    def seen(self) -> str:
        """Half a sentence on what sends the buffers, and how often."""
        if self.by_ddp:
            return "rank 0's buffers are sent to all before each forward pass"
        return f"the script itself sends the model's buffers {self.often}"

    @property
    def cure(self) -> str:
        """Depends on what sends the buffers, and on how often."""
        if self.is_rare:
            return self.rarer
        if not self.by_ddp:
            return "Send them once, or only after they have changed; or make them smaller."
        return f"{OF_DDP} if the buffers do not change, or make them smaller."
