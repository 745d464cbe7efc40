"""Right answers to the exercise of the page try_ring, of other makes than the solution."""

from course.commands.web.ring import trial

BEGUN, SOLVED = trial.begun(), trial.solved()


def edited(source: str, *edits: tuple[str, str]) -> str:
    """The source with each old text, which must be there, replaced by a new one."""
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    return source


def solved(*edits: tuple[str, str]) -> str:
    """The solution, changed."""
    return edited(SOLVED, *edits)


HEAD = "import torch\nimport torch.distributed as dist\n\n\n"
TALK = """    work = dist.isend(leaving, (rank + 1) % n)
    dist.recv(coming, (rank - 1) % n)
    work.wait()
"""
GATHER = SOLVED[SOLVED.index("    for k in range(n - 1):  # all-gather") :]
SCATTER = SOLVED[SOLVED.index("    for k in range(n - 1):  # reduce-scatter") : -len(GATHER)]

RIGHT = {
    "the solution": SOLVED,
    "in place of the first code": edited(
        BEGUN,
        (BEGUN[BEGUN.index("    # One round") :], ""),
    )
    + """
    for k in range(2 * (n - 1)):
        going, coming = chunks[(rank - k) % n], chunks[(left - k) % n]
        received = torch.empty_like(coming)
        work = dist.isend(going, right)
        dist.recv(received, left)
        work.wait()
        if k < n - 1:
            coming += received
        else:
            coming.copy_(received)
""",
    "even ranks send first": solved(
        (
            TALK,
            """    if n > 1 and rank == n - 1 and n % 2:
        dist.recv(coming, rank - 1)
        dist.send(leaving, 0)
    elif rank % 2 == 0:
        dist.send(leaving, (rank + 1) % n)
        dist.recv(coming, (rank - 1) % n)
    else:
        dist.recv(coming, (rank - 1) % n)
        dist.send(leaving, (rank + 1) % n)
""",
        )
    ),
    "in one list": solved(
        (
            TALK,
            """    both = [
        dist.P2POp(dist.irecv, coming, (rank - 1) % n),
        dist.P2POp(dist.isend, leaving, (rank + 1) % n),
    ]
    for work in dist.batch_isend_irecv(both):
        work.wait()
""",
        )
    ),
    "only rank 0 receives first": solved(
        (
            TALK,
            """    if rank == 0:
        dist.recv(coming, src=n - 1)
        dist.send(leaving, dst=1)
    else:
        dist.send(leaving, dst=(rank + 1) % n)
        dist.recv(coming, src=rank - 1)
""",
        )
    ),
    "sends a copy": solved(
        ("    work = dist.isend(leaving,", "    work = dist.isend(leaving.clone(),")
    ),
    "by recursion, names imported one by one": """from torch import empty_like
from torch.distributed import get_rank, get_world_size, irecv, isend


def all_reduce(flat):
    n, me = get_world_size(), get_rank()
    parts = list(flat.tensor_split(n))

    def go(k):
        if k == 2 * (n - 1):
            return
        into = parts[(me - k - 1) % n]
        room = empty_like(into) if k < n - 1 else into
        for work in [irecv(room, (me - 1) % n), isend(parts[(me - k) % n], (me + 1) % n)]:
            work.wait()
        if k < n - 1:
            parts[(me - k - 1) % n] += room
        go(k + 1)

    go(0)
""",
    "chunk `rank` is complete on each rank in between": HEAD
    + """def all_reduce(flat):
    rank, n = dist.get_rank(), dist.get_world_size()
    ends = [i * len(flat) // n for i in range(n + 1)]
    for k in range(2 * n - 2):
        out, back = (rank - 1 - k) % n, (rank - 2 - k) % n
        room = torch.zeros(ends[back + 1] - ends[back])
        sending = dist.isend(flat[ends[out]:ends[out + 1]], (rank + 1) % n)
        receiving = dist.irecv(room, (rank + n - 1) % n)
        receiving.wait()
        sending.wait()
        old = flat[ends[back]:ends[back + 1]]
        flat[ends[back]:ends[back + 1]] = old + room if k < n - 1 else room
""",
}
