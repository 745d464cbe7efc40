"""Name computing as the cause if nothing is wrong: the ranks spend their time on the model."""

from collections.abc import Iterator
from typing import Self

from course.diagnostics.finding import CauseInfo
from course.diagnostics.profiling.timeline import COMPUTING
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.thresholds import NEARLY_ALL


class Computing(Cause):
    """The first cause, if no other cause costs much."""

    info = CauseInfo(
        "computing",
        "the ranks compute most of the time",
        "A faster step needs less to compute: a lower precision, or a better kernel.",
        "05",
    )
    needs_all = False

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause always, with the share of a step that is computing."""
        yield cls(breakdown, min(1.0, sum(map(breakdown.mean_own, COMPUTING)) / breakdown.net_s))

    @property
    def is_nearly_all(self) -> bool:
        """Whether the ranks do nearly nothing else."""
        return self.share >= NEARLY_ALL

    @property
    def effect(self) -> str:
        """Empty: nothing can be gained here."""
        return ""
