"""Ranks that wait for the slowest: the cost of jitter, and of a slow rank, at every all-reduce."""

import random
from dataclasses import dataclass
from statistics import NormalDist

from course.core import CourseError

COMPUTE_MS = 100.0  # one pass, forward and backward, of an ordinary rank
ALL_REDUCE_MS = 12.0
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)  # ranks, of the curve
GRID = 400  # points of the numerical integral


@dataclass(frozen=True)
class Period:
    """A rank between two all-reduces: its passes end at `ends_ms`, then it waits for the others."""

    start_ms: float
    ends_ms: tuple[float, ...]
    all_done_ms: float  # when the last rank's passes end

    @property
    def wait_ms(self) -> float:
        """The time that the rank waits for the last one."""
        return self.all_done_ms - self.ends_ms[-1]


@dataclass(frozen=True)
class Race:
    """The periods of each rank, each ended by an all-reduce; ``ranks[0]`` has those of rank 0."""

    ranks: tuple[tuple[Period, ...], ...]

    @property
    def total_ms(self) -> float:
        """The time at which the last all-reduce is over."""
        return self.ranks[0][-1].all_done_ms + ALL_REDUCE_MS

    def waiting_share(self, rank: int) -> float:
        """The share of the time in which `rank` waits, 0 to 1."""
        return sum(period.wait_ms for period in self.ranks[rank]) / self.total_ms


def race(
    ranks: int, slower: float, jitter: float, every: int = 1, passes: int = 8, seed: int = 4
) -> Race:
    """Let `ranks` run `passes` passes and meet after `every` of them.

    The time of a pass is normally distributed, with the mean `COMPUTE_MS` and `jitter` times that
    as standard deviation; the last rank takes `1 + slower` times as long. Raises `CourseError` for
    impossible numbers.
    """
    if ranks < 1 or every < 1 or passes % every or min(slower, jitter) < 0:
        raise CourseError(
            "A race needs a rank, passes that divide by `every`, and no negative share."
        )
    draw = random.Random(seed)
    done: list[list[Period]] = [[] for _ in range(ranks)]
    start = 0.0
    for _ in range(passes // every):
        usual = [_ends(start, 0.0, jitter, every, draw) for _ in range(ranks - 1)]
        ends = [*usual, _ends(start, slower, jitter, every, draw)]
        last = max(end[-1] for end in ends)
        for rank, end in enumerate(ends):
            done[rank].append(Period(start, end, last))
        start = last + ALL_REDUCE_MS
    return Race(tuple(map(tuple, done)))


def _ends(
    start: float, slower: float, jitter: float, count: int, draw: random.Random
) -> tuple[float, ...]:
    """The ends of `count` passes in a row."""
    ends = []
    for _ in range(count):
        start += COMPUTE_MS * (1 + slower) * max(0.1, draw.gauss(1, jitter))
        ends.append(start)
    return tuple(ends)


def expected_ms(ranks: int, slower: float, jitter: float, every: int = 1) -> float:
    """The mean cost of a pass in ms, with the wait for the last rank and the all-reduce.

    The mean of the largest of independent normal times is the integral of 1 - F(t), where F is the
    product of their distribution functions.
    """
    means = [COMPUTE_MS, COMPUTE_MS * (1 + slower)]
    if jitter == 0:
        last = means[1]
    else:
        spread = jitter / every**0.5  # of the mean of `every` passes
        usual, slow = (NormalDist(mean, mean * spread) for mean in means)
        low, high = means[0] * (1 - 5 * spread), means[1] * (1 + 6 * spread)
        width = (high - low) / GRID
        middles = [low + (i + 0.5) * width for i in range(GRID)]
        last = low + width * sum(1 - usual.cdf(t) ** (ranks - 1) * slow.cdf(t) for t in middles)
    return last + ALL_REDUCE_MS / every


def ideal_ms(every: int = 1) -> float:
    """The cost of a pass in ms if no rank waits."""
    return COMPUTE_MS + ALL_REDUCE_MS / every
