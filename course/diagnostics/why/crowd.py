"""Measure how much of the ranks' cores other programs use, since that makes ranks look slow."""

from collections import defaultdict

from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.why.thresholds import BUSY


def elsewhere(ranks: list[RankReport]) -> float | None:
    """The share of the ranks' cores that other programs used while the ranks were watched.

    It is the largest of several shares if the ranks are on several machines, or bound to different
    cores. It is None if no machine counts how busy its cores are, as outside Linux.
    """
    places = defaultdict(list)
    for rank in ranks:
        places[rank.host, tuple(rank.usable)].append(rank)
    shares = map(_share_of_others, places.values())
    return max((share for share in shares if share is not None), default=None)


def _share_of_others(ranks: list[RankReport]) -> float | None:
    """The share that other programs used of the cores that these ranks have in common."""
    longest = max(rank.watched_s for rank in ranks)
    busy = [rank.busy_s for rank in ranks if rank.busy_s is not None]
    if not longest or not busy:
        return None
    others = max(busy) - sum(rank.cpu_s for rank in ranks)
    count = len(ranks[0].usable) or ranks[0].cores
    return max(0.0, others) / (longest * count)


def others_are_busy(ranks: list[RankReport]) -> bool:
    """Whether other programs used so much that one rank may have got less than another.

    The time that a rank's main thread waits for a core is left out of its work. But other things
    that the thread needs may still be late: a thread in C++, a worker, a page of memory, or data
    that another program has pushed out of a cache.
    """
    return (elsewhere(ranks) or 0.0) >= BUSY
