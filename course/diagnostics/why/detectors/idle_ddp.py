"""Detect a DDP module that sends no gradients."""

from collections.abc import Iterator
from typing import Self

from course.core import words
from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown


class IdleDdp(Cause):
    """The script trains and has a DDP module, but no gradient was averaged in any step."""

    info = CauseInfo("idle DDP", "the script trains, and its DDP sends no gradient", lab="03")
    aspect = "messages"

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if backward passes ran, but no forward pass would send gradients."""
        models = [ddp for report in breakdown.reports for ddp in report.script.ddp]
        sends = any(ddp.forwards or ddp.ranks < 2 for ddp in models)
        if not models or sends or breakdown.averages or breakdown.script.sharded:
            return
        if any(breakdown.slices(["backward"])) and not breakdown.ddp_passes:
            line = breakdown.line("forward") or models[0].made_at
            yield cls(breakdown, 0.0, line=line)

    @property
    def seen(self) -> str:
        """Whether the passes bypassed DDP, or were inside `no_sync`."""
        steps = words.plural(len(self.breakdown.times), "step")
        if any(ddp.no_sync_forwards for ddp in self.breakdown.ddp):
            return f"DDP sent no gradient in {steps}: every forward pass was inside no_sync()"
        made = self.breakdown.ddp[0].made_at
        at = f", which was made at {made}" if made else ""
        return f"DDP sent no gradient in {steps}: no forward pass went through the model{at}"

    @property
    def effect(self) -> str:
        """The real damage, which is not time: the ranks train different models."""
        return "Each rank trains a model of its own."

    @property
    def cure(self) -> str:
        """Depends on whether the passes were inside `no_sync`."""
        if any(ddp.no_sync_forwards for ddp in self.breakdown.ddp):
            return "Leave the last pass of each step outside of no_sync()."
        return "Call the DDP module itself, `model(...)`, and not `model.module(...)`."
