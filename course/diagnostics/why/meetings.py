"""Decide whether ranks that are late in turns meet in each step needlessly."""

from course.diagnostics.why.budget import Budget
from course.diagnostics.why.step_times import mean
from course.diagnostics.why.thresholds import MEETING_SHARE


def are_needless(budget: Budget) -> bool:
    """Whether ranks take turns, and only a message of the script's own makes them meet.

    Gradients are averaged in fewer steps. Between two such steps, a rank that is late in one and
    early in the next would not keep the others waiting.
    """
    if not budget.turns:
        return False
    ranks = range(len(budget.ranks))
    waited = sum(budget.waited(index) for index in ranks)
    for_script = sum(budget.waited(index, "synchronization") for index in ranks)
    averaging = mean(budget.times, lambda step: bool(step.price("gradients")))
    return for_script >= MEETING_SHARE * waited and averaging < MEETING_SHARE
