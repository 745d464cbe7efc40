"""Ranks that are late in turns: each step waits for another one."""

from dataclasses import dataclass

from course.own.slow.budget import Budget
from course.own.slow.share import mean, without
from course.own.slow.thresholds import IN_TURNS, MEETS
from course.own.watch.timeline import OWN


@dataclass(frozen=True)
class Turns:
    """How much shorter a mean step is if no rank waits for another, and by which kind of work.

    `meeting` says whether they need not meet in each step: they do so for a message of the
    script's own, and send gradients in fewer steps.
    """

    gain: float
    kind: str
    meeting: bool


def in_turns(budget: Budget) -> Turns | None:
    """None where one rank is nearly always late, or none is by much."""
    if budget.late or len(budget.ranks) < 2:
        return None
    rounds = without(budget.rounds, "saving")
    gain = mean(rounds, lambda each: each.spread())
    if gain < IN_TURNS * budget.net_s:
        return None
    kind = max(OWN, key=lambda kind: mean(rounds, lambda each: each.spread(kind)))
    return Turns(gain, kind, _meet_for_the_script(budget))


def _meet_for_the_script(budget: Budget) -> bool:
    ranks = range(len(budget.ranks))
    waited = sum(budget.waited(index) for index in ranks)
    for_script = sum(budget.waited(index, "synchronization") for index in ranks)
    averaging = mean(budget.rounds, lambda each: bool(each.price("gradients")))
    return for_script >= MEETS * waited > 0 and averaging < MEETS
