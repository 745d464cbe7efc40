"""Detect the anomaly detection of autograd, which is for debugging."""

from collections.abc import Iterator
from typing import Self

from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown


class AnomalyDetection(Cause):
    """Backward passes run under `torch.autograd.set_detect_anomaly(True)`."""

    info = CauseInfo(
        "anomaly detection",
        "autograd records where each operation was called, and looks for NaN in each gradient",
        "Remove `torch.autograd.set_detect_anomaly(True)` or `detect_anomaly()`, except while you "
        "debug.",
    )
    is_fact = cost_is_partial = True
    needs_all = False
    least_share = 0.0  # nothing of its cost is seen, and it is often large
    question = (
        "how much slower anomaly detection makes the forward and the backward pass. Run once "
        "without it and compare."
    )

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if a rank ran its last backward pass with it."""
        if any(report.script.detects_anomalies for report in breakdown.reports):
            yield cls(breakdown, 0.0, line=breakdown.line("backward"))
