"""Whether ranks that are late in turns meet in each step needlessly."""

from course.own.slow.budget import Budget
from course.own.slow.step_times import mean
from course.own.slow.thresholds import MEETS


def are_needless(budget: Budget) -> bool:
    """Whether ranks take turns, and only a message of the script's own makes them meet.

    Gradients are averaged in fewer steps. Between two of these, a rank that is late in one step
    and early in the next would keep no other waiting.
    """
    if not budget.turns:
        return False
    ranks = range(len(budget.ranks))
    waited = sum(budget.waited(index) for index in ranks)
    for_script = sum(budget.waited(index, "synchronization") for index in ranks)
    averaging = mean(budget.times, lambda each: bool(each.price("gradients")))
    return for_script >= MEETS * waited and averaging < MEETS
