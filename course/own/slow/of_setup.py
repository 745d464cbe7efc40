"""Causes that are facts of how the run was set up, and no matter of time alone."""

from collections.abc import Iterator
from itertools import combinations, pairwise
from statistics import mean

from course.own.slow.budget import Budget, is_sum_in_forward, judged
from course.own.slow.cause import Cause
from course.own.watch.timeline import Rank

SAME = 0.9  # of all steps, in which ranks draw the same batch
ENOUGH = 8  # samples that two ranks would have in common if both drew from all


def causes(budget: Budget) -> Iterator[Cause]:
    """Those that are true of this run."""
    if cause := _threads(budget):
        yield cause
    if budget.averages and same_samples(budget):
        line = budget.where("input")
        world = budget.ranks[0].world
        yield Cause("not sharded", 1 - 1 / world, None, line, line)


def needless_search(budget: Budget) -> bool:
    """Whether DDP searches for unused parameters, and in no step watched there was one."""
    finds = any(ddp["finds_unused"] for ddp in budget.ranks[0].ddp)
    return finds and not any(pass_.unused for pass_ in budget.passes)


def _threads(budget: Budget) -> Cause | None:
    """More than one thread in each rank, and more of them than cores.

    At the end of an operation all its threads wait for the last. So what counts is the time in
    which any of them waits for a core; no more can be saved than the share that has none. Where a
    GPU computes, they hold up nobody.
    """
    first = budget.ranks[0]
    threads = first.threads * first.local
    if first.threads < 2 or threads <= first.cores or first.device == "cuda":
        return None
    waits = mean(min(1.0, rank.queued_s / rank.watched_s) for rank in budget.ranks)
    return Cause("threads", waits * (1 - first.cores / threads))


def same_samples(budget: Budget) -> bool | None:
    """Whether ranks draw the same samples; None where nothing that was seen tells.

    Checksums of what their loaders give must be the same, and the indices that were chosen, where
    these are known: a data set may hold a sample twice, and ranks may have one each. Where all
    read the same batch, they may take a share each: then their models are called with others.
    """
    if _split(budget):
        return None
    drawn = [[step.rows for step in judged(budget.ranks, rank)] for rank in budget.ranks]
    if not all(any(rows) for rows in drawn):
        return None
    if any(len(set(rows)) < len(rows) / 2 for steps in drawn for rows in steps):
        return None  # samples that are alike anyway
    chosen = all(any(step.indices for step in rank.steps) for rank in budget.ranks)
    if _alike(budget, "rows"):
        if all(any(step.fed for step in rank.steps) for rank in budget.ranks):
            return _alike(budget, "fed") and (not chosen or _same(budget, "indices"))
        if not budget.ranks[0].ddp:
            return None
    return _same(budget, "rows") and (not chosen or _same(budget, "indices"))


def _split(budget: Budget) -> bool:
    """Whether ranks share a sample, as where layers are split: then all must draw the same."""
    sent = budget.slices(["collective"])
    inside = any(is_sum_in_forward(each) for each in sent)
    return inside or any(ddp["ranks"] < budget.ranks[0].world for ddp in budget.ranks[0].ddp)


def _same(budget: Budget, what: str) -> bool:
    """The same in nearly every step; or in each an order of its own, of all that there is."""
    pairs = list(combinations(budget.ranks, 2))
    from_all = bool(pairs) and all(_from_all(one, other, what) for one, other in pairs)
    return _alike(budget, what) or from_all


def _alike(budget: Budget, what: str) -> bool:
    """The same in nearly every step."""
    drawn = [[getattr(step, what) for step in judged(budget.ranks, r)] for r in budget.ranks]
    pairs = list(combinations(range(len(drawn)), 2))
    same = [
        mean(set(a) == set(b) for a, b in zip(drawn[i], drawn[j], strict=True) if a and b)
        for i, j in pairs
        if any(a and b for a, b in zip(drawn[i], drawn[j], strict=True))
    ]
    return bool(same) and min(same) >= SAME


def _from_all(one: Rank, other: Rank, what: str) -> bool:
    """Whether two ranks have as many samples of an epoch in common as if both drew from all."""
    mine, theirs = _epoch(one, what), _epoch(other, what)
    expected = len(mine) * len(theirs) / max(one.loaded, 1)
    return one.loaded > 0 and expected >= ENOUGH and len(mine & theirs) >= expected / 2


def _epoch(rank: Rank, what: str) -> set[int]:
    """The samples that a rank drew in the longest part of an epoch that was watched."""
    opens = [n for n, step in enumerate(rank.steps) if step.opens]
    bounds = [-1, *opens, len(rank.steps)]
    parts = [rank.steps[begin + 1 : end] for begin, end in pairwise(bounds)]
    longest = max(parts, key=len)
    return {mark for step in longest for mark in getattr(step, what)}
