"""Detect copies from the host for which a GPU waits."""

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import OwnWork
from course.diagnostics.why.step_breakdown import StepBreakdown


class Copies(OwnWork):
    """The GPU waits for copies from the host."""

    info = CauseInfo("copies", "the device waits for copies from the host", lab="04")
    kind = "copies"
    aspect = "copies"

    @classmethod
    def is_judged(cls, breakdown: StepBreakdown) -> bool:
        """Whether a rank has a GPU."""
        return any(report.device == "cuda" for report in breakdown.reports)

    @property
    def cure(self) -> str:
        """Depends on whether the loader pins its batches already."""
        loader = self.breakdown.script.loader
        if loader and loader.pinned:
            return "The loader pins its batches already: copy with `non_blocking=True` as well."
        pin = "`pin_memory=True` in the DataLoader" if loader else "batches in pinned memory"
        return f"Use {pin} and `.to(device, non_blocking=True)`."
