"""Measure how much of the ranks' cores other programs use, since that makes ranks look slow."""

from collections import defaultdict

from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.why.thresholds import BUSY


def elsewhere(reports: list[RankReport]) -> float | None:
    """The share of the ranks' cores that other programs used while the ranks were watched.

    It is the largest of several shares if the ranks are on several machines, or bound to different
    cores. It is None if no machine counts how busy its cores are, as outside Linux.
    """
    places = defaultdict(list)
    for report in reports:
        places[report.host, tuple(report.usable)].append(report)
    shares = map(_share_of_others, places.values())
    return max((share for share in shares if share is not None), default=None)


def _share_of_others(reports: list[RankReport]) -> float | None:
    """The share that other programs used of the cores that these ranks have in common."""
    longest = max(report.watched_s for report in reports)
    busy = [report.busy_s for report in reports if report.busy_s is not None]
    if not longest or not busy:
        return None
    others = max(busy) - sum(report.cpu_s for report in reports)
    count = len(reports[0].usable) or reports[0].cores
    return max(0.0, others) / (longest * count)


def others_are_busy(reports: list[RankReport]) -> bool:
    """Whether other programs used so much that one rank may have got less than another.

    The time that a rank's main thread waits for a core is left out of its work. But other things
    that the thread needs may still be late: a thread in C++, a worker, a page of memory, or data
    that another program has pushed out of a cache.
    """
    return (elsewhere(reports) or 0.0) >= BUSY
