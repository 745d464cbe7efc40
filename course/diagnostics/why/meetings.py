"""Decide whether ranks that are late in turns meet needlessly in each step."""

from course.diagnostics.why.step_breakdown import StepBreakdown
from course.diagnostics.why.step_times import mean
from course.diagnostics.why.thresholds import MEETING_SHARE


def are_needless(breakdown: StepBreakdown) -> bool:
    """Whether ranks are late in turns, and only the script's own message makes them meet.

    In that case gradients are averaged in fewer than half of the steps. Without the script's
    message, a rank that is late in one step and early in the next would keep no other waiting.
    """
    if not breakdown.turns:
        return False
    ranks = range(len(breakdown.ranks))
    waited = sum(breakdown.waited(index) for index in ranks)
    for_script = sum(breakdown.waited(index, "synchronization") for index in ranks)
    averaging = mean(breakdown.times, lambda step: bool(step.transfer_s("gradients")))
    return for_script >= MEETING_SHARE * waited and averaging < MEETING_SHARE
