"""The nodes of a job, the processes on each, and the numbers of these processes."""

from dataclasses import dataclass

from course.core import CourseError


@dataclass(frozen=True)
class JobProcess:
    """One process of a job: `rank` counts over all nodes, `local_rank` within its own `node`."""

    rank: int
    local_rank: int
    node: int


def job(nodes: int, per_node: int) -> list[JobProcess]:
    """The processes of a job in the order of their ranks, as torchrun numbers them.

    Raises `CourseError` if there is no process.
    """
    if min(nodes, per_node) < 1:
        raise CourseError("A job has at least one node, and at least one process on each.")
    ranks = range(nodes * per_node)
    return [JobProcess(rank, local_rank=rank % per_node, node=rank // per_node) for rank in ranks]
