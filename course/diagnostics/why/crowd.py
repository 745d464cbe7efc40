"""Measure what other programs take of the ranks' cores, since that makes ranks look slow."""

from collections import defaultdict

from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.why.thresholds import BUSY


def elsewhere(ranks: list[RankReport]) -> float:
    """The share of their cores that other programs had while the ranks were watched.

    Ranks on other machines or bound to other cores are apart; the largest of the shares counts.
    """
    places = defaultdict(list)
    for rank in ranks:
        places[rank.host, tuple(rank.usable)].append(rank)
    return max(_share_of_others(at_one) for at_one in places.values())


def _share_of_others(ranks: list[RankReport]) -> float:
    """The share of the cores that these ranks have in common."""
    longest = max(rank.watched_s for rank in ranks)
    others = max(rank.busy_s for rank in ranks) - sum(rank.cpu_s for rank in ranks)
    count = len(ranks[0].usable) or ranks[0].cores
    return max(0.0, others) / (longest * count) if longest else 0.0


def had_cores(ranks: list[RankReport]) -> bool:
    """Whether other programs had so much that one rank may have had less than another.

    The time that a rank's main thread waits for a core is left out of its work. What the thread
    waits for may still come late: threads in C++, a worker, a page of memory, a cache that another
    program has filled.
    """
    return elsewhere(ranks) >= BUSY
