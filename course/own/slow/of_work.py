"""Causes that lie in what a rank does itself: how much shorter would a step be without it?"""

from collections.abc import Iterator
from statistics import mean

from course.own.slow import of_messages
from course.own.slow.budget import Budget, Share, evened, length, others, without
from course.own.slow.cause import Cause
from course.own.slow.of_setup import needless_search
from course.own.watch.timeline import OWN

STEADY = 0.8  # of all that the last rank is later, in steps in which it is this one
LEAST = 0.05  # of a step: what is smaller is no straggler, but chance
PART = 0.2  # of what it has more of most, and a rank has more of another kind of work, too
IN_TURNS = 0.3  # ... or, where each time it is another rank
KINDS = {
    "input": "input",
    "python": "python",
    "optimizer": "optimizer",
    "saving": "saving",
    "search": "unused parameters",
    "copies": "copies",
}
PARTS = {
    "gradients": "backward",
    "python": "outside the step",
    "saving": "outside the step",
    "search": "forward",
    "launching": "launching kernels",
}


def causes(budget: Budget) -> Iterator[Cause]:
    """Those that shorten a step, in any order."""
    steps = budget.steps
    late = _late(budget)
    if late:
        cause, steps = late
        yield cause
    for kind, name in KINDS.items():
        gain = length(steps) - length(without(steps, kind))
        if kind == "search":
            gain = gain + of_messages.of_search(budget) if needless_search(budget) else 0.0
        if gain > 0:
            line = budget.where(kind)
            yield Cause(name, gain / budget.net_s, _alone(steps, kind), line, line)
    if not late and (cause := _in_turns(budget)):
        yield cause


def _late(budget: Budget) -> tuple[Cause, list[list[Share]]] | None:
    """The rank that the others nearly always wait for, and the steps as if it were not late.

    It need not be late in each step, such as one that validates in every tenth. The step in which
    ranks differ most may be chance, so the others must show the same.
    """
    steps = budget.steps
    most = max(steps, key=_spread)
    usual = [step for step in steps if step is not most]
    ranks = range(len(budget.ranks))
    if len(ranks) < 2:
        return None
    work = [mean(step[rank].work for step in usual) for rank in ranks]
    rank = max(ranks, key=work.__getitem__)
    last = [step for step in usual if step[rank].work >= max(share.work for share in step)]
    ahead = sum(map(_spread, last)) / (sum(map(_spread, usual)) or 1)
    excess = {
        kind: mean(step[rank].own[kind] - others(step, rank, kind) for step in steps)
        for kind in OWN
    }
    kind = max(excess, key=excess.__getitem__)
    even, usually_even = steps, usual
    for each in OWN:
        if excess[each] >= PART * excess[kind]:
            even, usually_even = (evened(some, rank, each) for some in (even, usually_even))
    usual_gain = length(usual) - length(usually_even)
    if kind == "saving" or ahead < STEADY or usual_gain < LEAST * length(usual):
        return None
    share = (length(steps) - length(even)) / budget.net_s
    line = budget.where(kind, rank=rank)
    where = PARTS.get(kind, kind)
    number = budget.ranks[rank].rank
    return Cause("straggler", share, number, where, line), even


def _in_turns(budget: Budget) -> Cause | None:
    """Ranks that are late in turns: each step waits for another one."""
    steps = without(budget.steps, "saving")
    gain = mean(_spread(step) for step in steps)
    if gain / budget.net_s < IN_TURNS:
        return None
    kind = max(OWN, key=lambda kind: mean(_spread(step, kind) for step in steps))
    where = PARTS.get(kind, kind)
    return Cause("straggler", gain / budget.net_s, None, where, budget.where(kind))


def _spread(step: list[Share], kind: str = "") -> float:
    """How far the rank with most work is above the mean."""
    work = [share.own[kind] if kind else share.work for share in step]
    return max(work) - mean(work)


def _alone(steps: list[list[Share]], kind: str) -> int | None:
    """The rank that has nearly all of a kind of work, None where several have it."""
    totals = [sum(step[rank].own[kind] for step in steps) for rank in range(len(steps[0]))]
    most = max(range(len(totals)), key=totals.__getitem__)
    return most if len(totals) > 1 and totals[most] > 0.9 * sum(totals) else None
