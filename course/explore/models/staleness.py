"""A parameter server with bounded staleness: workers' computing, waiting and staleness."""

import math
from dataclasses import dataclass

from course.core import CourseError

STEP_MS = 10.0  # of the fastest worker
UNEVEN = 0.06  # each further worker is this much slower: no two machines are equal
END_MS = 200.0
UNBOUNDED = 12  # the bound that stands for none, because a slider needs a number


@dataclass(frozen=True)
class WorkerStep:
    """A worker's step from `start` to `end`, then its wait until `answered`, in ms."""

    start: float
    end: float
    answered: float
    staleness: int  # of its update: the number of other updates during the step


@dataclass(frozen=True)
class History:
    """What every worker did until `END_MS`."""

    workers: tuple[tuple[WorkerStep, ...], ...]

    @property
    def updates(self) -> int:
        """The number of updates that the server made."""
        return sum(step.end <= END_MS for steps in self.workers for step in steps)

    @property
    def largest_staleness(self) -> int:
        """The largest staleness."""
        return max(
            (step.staleness for steps in self.workers for step in steps if step.end <= END_MS),
            default=0,
        )

    @property
    def waiting_share(self) -> float:
        """The share of the workers' time spent waiting, 0 to 1."""
        waits = (
            min(s.answered, END_MS) - min(s.end, END_MS) for steps in self.workers for s in steps
        )
        return sum(waits) / (END_MS * len(self.workers))


def durations(workers: int, slow: float, nap: bool) -> list[list[float]]:
    """The length of each step in ms; the last worker is slow, with `nap` in one step only."""
    count = math.ceil(END_MS / STEP_MS) + 1
    steps = [[STEP_MS * (1 + UNEVEN * i)] * count for i in range(workers)]
    if nap:
        steps[-1][2] += STEP_MS * 2 * (slow - 1)
    else:
        steps[-1] = [step * slow for step in steps[-1]]
    return steps


def simulate(workers: int, bound: float, slow: float, nap: bool = False) -> History:
    """Let workers compute, each held back while it is more than `bound` steps ahead of the slowest.

    Messages take no time. A step that ends at the same time as another's is applied in order of
    rank. Raises `CourseError` for a bound below 0 or fewer than one worker.
    """
    if workers < 1 or bound < 0 or slow < 1:
        raise CourseError(
            "It takes at least one worker, a bound of at least 0, and a slowness of at least 1."
        )
    lengths = durations(workers, slow, nap)
    done, version = [0] * workers, 0
    # Start, end, and the version that was read.
    running = {worker: (0.0, lengths[worker][0], 0) for worker in range(workers)}
    waiting: dict[int, tuple[float, float, int]] = {}  # start, end, staleness
    steps: list[list[WorkerStep]] = [[] for _ in range(workers)]
    while running:
        worker = min(running, key=lambda w: (running[w][1], w))
        start, now, read = running.pop(worker)
        if now > END_MS:
            steps[worker].append(WorkerStep(start, now, now, version - read))
            continue
        waiting[worker] = (start, now, version - read)
        version += 1
        done[worker] += 1
        for ready in [w for w in waiting if done[w] - min(done) <= bound]:
            begun, ended, stale = waiting.pop(ready)
            steps[ready].append(WorkerStep(begun, ended, now, stale))
            running[ready] = (now, now + lengths[ready][done[ready]], version)
    for worker, (begun, ended, stale) in waiting.items():
        steps[worker].append(WorkerStep(begun, ended, END_MS, stale))
    return History(tuple(map(tuple, steps)))
