"""Detect more threads than cores."""

from collections.abc import Iterator
from statistics import fmean
from typing import Self

from course.core import words
from course.diagnostics.finding import CauseInfo
from course.diagnostics.why.cause import Cause
from course.diagnostics.why.step_breakdown import StepBreakdown


class Threads(Cause):
    """Each rank has more than one thread, and all ranks together have more threads than cores.

    At the end of an operation, all its threads wait for the last one. So the time counts in which
    any of them waits for a core. Of that time, a cure saves at most the share of threads that have
    no core.
    """

    info = CauseInfo(
        "threads",
        "there are more threads than cores, and they wait for one another",
        "Give each rank its share of the cores: leave `torch.set_num_threads` and "
        "`OMP_NUM_THREADS` to torchrun.",
        "00",
    )
    aspect = "threads"
    is_fact = True
    needs_all = False

    @classmethod
    def evidence(cls, breakdown: StepBreakdown) -> Iterator[Self]:
        """Yield the cause if there are more threads than cores, and threads waited for a core."""
        first = breakdown.reports[0]
        threads = first.threads * first.local
        waits = fmean(min(1.0, report.queued_s / report.watched_s) for report in breakdown.reports)
        if first.threads >= 2 and threads > first.cores and first.device != "cuda" and waits:
            yield cls(breakdown, waits * (1 - first.cores / threads))

    @classmethod
    def is_judged(cls, breakdown: StepBreakdown) -> bool:
        """Whether only CPUs compute, because threads that wait do not hold up a GPU."""
        return all(report.device != "cuda" for report in breakdown.reports)

    @property
    def effect(self) -> str:
        """A sentence on the number of threads; what is gained is unknown."""
        first = self.breakdown.reports[0]
        return (
            f"Here {first.local} ranks of {first.threads} threads each share "
            f"{words.plural(first.cores, 'core')}. Only a run can tell how much faster fewer "
            "threads would be."
        )
