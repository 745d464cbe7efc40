"""When jobs start on a small cluster: in their order, or in gaps that others leave (backfill).

It plans as Slurm's sched/backfill does: it takes jobs in their order, and gives each one the
earliest place that is free for its whole time limit and delays no job before it
(https://slurm.schedmd.com/sched_config.html#backfill).
"""

from dataclasses import dataclass

from course.core import CourseError

NODES, GPUS = 3, 4  # of the explorable's cluster: three servers with four GPUs each


@dataclass(frozen=True)
class Wish:
    """A job: GPUs on each of its nodes, and its time limit in hours."""

    name: str
    nodes: int
    gpus: int
    hours: float


@dataclass(frozen=True)
class Planned:
    """Where and when a job runs: `places` are (node, GPU indices)."""

    wish: Wish
    places: tuple[tuple[int, tuple[int, ...]], ...]
    start: float

    @property
    def end(self) -> float:
        """The hour at which its time limit ends it."""
        return self.start + self.wish.hours


RUNNING = (  # they run already; `hours` is what is left of their limits
    Planned(Wish("Ana: vision", 1, 4, 3.0), ((0, (0, 1, 2, 3)),), 0.0),
    Planned(Wish("Ben: speech", 2, 2, 6.0), ((1, (0, 1)), (2, (0, 1))), 0.0),
)
WAITING = (Wish("Chi: large model", 3, 4, 5.0), Wish("Dan: sweep", 1, 4, 4.0))


def plan(mine: Wish, backfill: bool = True, nodes: int = NODES, gpus: int = GPUS) -> list[Planned]:
    """Plan all jobs, yours last; raise `CourseError` if it can never run."""
    if mine.nodes > nodes or mine.gpus > gpus:
        raise CourseError(
            f"There are {nodes} nodes with {gpus} GPUs, not {mine.nodes} with {mine.gpus}."
        )
    placed = list(RUNNING)
    for wish in (*WAITING, mine):
        earliest = 0.0 if backfill else max((job.start for job in placed), default=0.0)
        placed.append(place(wish, placed, earliest, nodes, gpus))
    return placed


def place(
    wish: Wish, placed: list[Planned], earliest: float, nodes: int = NODES, gpus: int = GPUS
) -> Planned:
    """Plan a job at the first moment from `earliest` (hours) on at which its whole limit fits.

    Raises `CourseError` for a job that the cluster can never run.
    """
    moments = sorted({earliest, *(job.end for job in placed if job.end > earliest)})
    for start in moments:
        free = [_free(node, start, start + wish.hours, placed, gpus) for node in range(nodes)]
        fits = [node for node in range(nodes) if len(free[node]) >= wish.gpus]
        if len(fits) >= wish.nodes:
            places = tuple((node, free[node][: wish.gpus]) for node in fits[: wish.nodes])
            return Planned(wish, places, start)
    raise CourseError(f"{wish.name} can never run here.")


def _free(node: int, start: float, end: float, placed: list[Planned], gpus: int) -> tuple[int, ...]:
    """The GPUs of a node that no job uses at any moment from `start` to `end`."""
    at_that_time = [job for job in placed if job.start < end and job.end > start]
    places = [place for job in at_that_time for place in job.places]
    taken = {gpu for where, held in places if where == node for gpu in held}
    return tuple(gpu for gpu in range(gpus) if gpu not in taken)
