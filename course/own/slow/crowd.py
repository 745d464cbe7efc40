"""Measure what other programs take of the machine, since that makes ranks look slow."""

from course.own.profiling.timeline import RankReport
from course.own.slow.thresholds import BUSY


def elsewhere(ranks: list[RankReport]) -> float:
    """The share of the machine that other programs had while the ranks were watched."""
    longest = max(rank.watched_s for rank in ranks)
    others = max(rank.busy_s for rank in ranks) - sum(rank.cpu_s for rank in ranks)
    return max(0.0, others) / (longest * ranks[0].cores) if longest else 0.0


def had_cores(ranks: list[RankReport]) -> bool:
    """Whether other programs had so much that one rank may have had less than another.

    The time that a rank's main thread waits for a core is left out of its work. What the thread
    waits for may still come late: threads in C++, a worker, a page of memory, a cache that another
    program has filled.
    """
    return elsewhere(ranks) >= BUSY
