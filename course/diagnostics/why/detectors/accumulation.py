"""Detect gradients that are averaged too often."""

from collections.abc import Iterator
from typing import Self

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.thresholds import SHOWN_SHARE

ALL_BUT_LAST = "Run all passes but the last, forward and backward, inside `with model.no_sync():`."


class Accumulation(Cause):
    """A step has several backward passes, and each of them averages gradients."""

    info = CauseInfo("accumulation", "gradients are averaged in passes that take no step", lab="04")
    aspect = "messages"
    least_share = SHOWN_SHARE  # needless messages are a fact, however little time they take

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if gradients are averaged in passes that no optimizer step follows."""
        if seconds := breakdown.transfer_s("early"):
            line = breakdown.line("collective", "tail", traffic="gradients")
            yield cls(breakdown, seconds / breakdown.net_s, line=line)

    @property
    def seen(self) -> str:
        """The number of passes in which gradients are averaged."""
        passes = max(
            (slice_.passes_begun for slice_ in self.breakdown.slices(["backward"])), default=0
        )
        often = f"in each of {passes} passes" if passes > 1 else "in passes that take no step"
        return f"gradients are averaged {often}, and only those of the last need be"

    @property
    def lab(self) -> str:
        """Lab 10b for a sharded model, lab 04 for DDP."""
        return "10b" if self.breakdown.script.sharded else self.info.lab

    @property
    def cure(self) -> str:
        """Depends on what averages the gradients, and on whether the script uses `no_sync`."""
        script = self.breakdown.script
        if script.sharded == "fully_shard":
            return (
                "`fully_shard` has no `no_sync`: call `model.set_requires_gradient_sync(last)` "
                "before each pass, where `last` is true in the last one of a step."
            )
        if not self.breakdown.ddp and not script.sharded:
            return "Average the gradients once for each step, after its last backward pass."
        if script.no_sync and not any(ddp.no_sync_forwards for ddp in self.breakdown.ddp):
            return (
                f"There is a no_sync() at {script.no_sync}, but it begins after the forward, and "
                "DDP decides in the forward: put the forward into it as well."
            )
        if script.no_sync:
            return f"The no_sync() at {script.no_sync} leaves out some passes. {ALL_BUT_LAST}"
        if script.framework == "accelerate":
            return (
                "Run each pass inside `with accelerator.accumulate(model):`, and tell the "
                "Accelerator its `gradient_accumulation_steps`."
            )
        return ALL_BUT_LAST
