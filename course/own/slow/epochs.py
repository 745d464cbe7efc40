"""Weigh the steps in which an epoch begins, which are longer than the others.

Among the watched steps there may be too many or too few of these. So each step has a weight, by
which they are as frequent in a mean as in the whole training.
"""

from itertools import pairwise
from statistics import fmean

from course.own.profiling.timeline import RankReport
from course.own.slow.thresholds import FEWEST


def openings(ranks: list[RankReport]) -> list[bool]:
    """Return, for each step in which all ranks were watched, whether a rank began an epoch."""
    count = min(len(rank.steps) for rank in ranks)
    return [any(rank.steps[n].opens for rank in ranks) for n in range(count)]


def weights(ranks: list[RankReport]) -> list[float]:
    """The weight of each step in a mean.

    If only one epoch began, and its length is not known, that step has the weight 0.
    """
    opens = openings(ranks)
    plain = opens.count(False)
    begun = len(opens) - plain
    if not begun or plain < FEWEST:
        return [1.0] * len(opens)
    steps = epoch(ranks)
    weight = plain / (begun * (steps - 1)) if steps > 1 else 0.0
    return [weight if begins else 1.0 for begins in opens]


def epoch(ranks: list[RankReport]) -> float:
    """The number of steps of an epoch, by two beginnings or by the length of the loader.

    It is 0 if neither is known.
    """
    begun = [n for n, opens in enumerate(openings(ranks)) if opens]
    if len(begun) > 1:
        return fmean(later - earlier for earlier, later in pairwise(begun))
    loader, draws = ranks[0].script.loader, sum(step.draws for step in ranks[0].steps)
    if not loader or not draws:
        return 0.0
    return loader.batches * len(ranks[0].steps) / draws
