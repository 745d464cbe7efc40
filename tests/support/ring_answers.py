"""Right and wrong answers to the exercise of the page try_ring."""

from course.commands.web.ring import trial

BEGUN, SOLVED = trial.begun(), trial.solved()


def edited(source: str, *edits: tuple[str, str]) -> str:
    """The source with each old text, which must occur in it, replaced by the new one."""
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    return source


def solved(*edits: tuple[str, str]) -> str:
    """The solution with these edits."""
    return edited(SOLVED, *edits)


HEAD = "import torch\nimport torch.distributed as dist\n\n\n"
TALK = """    work = dist.isend(leaving, (rank + 1) % n)
    dist.recv(coming, (rank - 1) % n)
    work.wait()
"""
GATHER = SOLVED[SOLVED.index("    for k in range(n - 1):  # all-gather") :]

RIGHT = {
    "the solution": SOLVED,
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

# By fault: the source, and a part of the message that the check must give.
WRONG = {
    "the code that the editor begins with": (
        BEGUN,
        "They wait in a circle, 0 → 1 → 2 → 3 → 0. A send",
    ),
    "all receive first": (
        solved(
            (
                TALK,
                "    dist.recv(coming, (rank - 1) % n)\n    dist.send(leaving, (rank + 1) % n)\n",
            )
        ),
        "Each of them wants to receive before it sends",
    ),
    "one round alone": (
        edited(
            BEGUN,
            ("dist.send(leaving, right)", "work = dist.isend(leaving, right)"),
            ("    mine +=", "    work.wait()\n    mine +="),
        ),
        "what ranks 1, 2, 3 hold is not in it",
    ),
    "a chain that ends in a circle": (
        HEAD
        + "def all_reduce(flat):\n    dist.recv(flat, {0: 1, 1: 2, 2: 3, 3: 2}[dist.get_rank()])\n",
        "They wait in a circle, 2 → 3 → 2.",
    ),
    "rank 0 leaves early": (
        solved(("    chunks = flat", "    if rank == 0:\n        return\n    chunks = flat")),
        "waits for rank 0, which has come to its end.",
    ),
    "no way round from the last rank": (
        solved(("(rank + 1) % n)\n    dist", "rank + 1)\n    dist")),
        "Rank 3, line 8: ValueError: dist.isend: the other rank is 4",
    ),
    "chunks the wrong way round": (
        solved(("mine = chunks[(rank - k - 1) % n]", "mine = chunks[(rank - k + 1) % n]")),
        "what ranks 0, 1 hold is not in it, and what rank 2 holds is in it too often",
    ),
    "two sums change places": (
        SOLVED + "    if n == 4:\n        last = flat[7:].clone()\n        flat[7:] = flat[6:7]\n"
        "        flat[6:7] = last\n",
        "Rank 0 has 8888 at index 6 instead of 7777: numbers of other places are in it",
    ),
    "no second half": (solved((GATHER, "")), "8 of 32 numbers are complete sums"),
    "the mean": (SOLVED + "    flat /= n\n", "that is the mean"),
    "the send is never waited for": (
        solved(("    work.wait()\n", "")),
        "Rank 0 never waits for its isend to rank 1, line 8",
    ),
    "it adds before the numbers are there": (
        solved(
            (TALK, TALK.replace("dist.recv(", "other = dist.irecv(") + "    return other\n"),
            (
                "        exchange(chunks[(rank - k) % n], received)\n        mine += received",
                "        other = exchange(chunks[(rank - k) % n], received)\n"
                "        mine += received\n        other.wait()",
            ),
            (GATHER, GATHER.replace("% n])\n", "% n]).wait()\n")),
        ),
        "it was never received",
    ),
    "for four ranks only": (
        solved(("dist.get_rank(), dist.get_world_size()", "dist.get_rank(), 4")),
        "With 1 rank and 3 numbers:",
    ),
    "for even lengths only": (
        solved(("torch.empty_like(mine)", "torch.empty_like(chunks[0])")),
        "numbers come from rank",
    ),
    "everyone adds in an order of its own": (
        HEAD
        + """def all_reduce(flat):
    rank, n = dist.get_rank(), dist.get_world_size()
    going = flat.clone()
    for k in range(n - 1):
        coming = torch.empty_like(flat)
        work = dist.isend(going, (rank + 1) % n)
        dist.recv(coming, (rank - 1) % n)
        work.wait()
        flat += coming
        going = coming
""",
        "differ in the last bits",
    ),
    "all to rank 0 and back": (
        HEAD
        + """def all_reduce(flat):
    rank, n = dist.get_rank(), dist.get_world_size()
    if rank:
        dist.send(flat, 0)
        dist.recv(flat, 0)
    else:
        room = torch.empty_like(flat)
        for other in range(1, n):
            dist.recv(room, other)
            flat += room
        for other in range(1, n):
            dist.send(flat, other)
""",
        "this is not a ring: rank 0 sends to rank 2",
    ),
    "whole buffers go round": (
        HEAD
        + """def all_reduce(flat):
    rank, n = dist.get_rank(), dist.get_world_size()
    going, parts = flat.clone(), {rank: flat.clone()}
    for k in range(n - 1):
        coming = torch.empty_like(flat)
        work = dist.isend(going, (rank + 1) % n)
        dist.recv(coming, (rank - 1) % n)
        work.wait()
        going = parts[(rank - 1 - k) % n] = coming
    flat.zero_()
    for other in range(n):
        flat += parts[other]
""",
        "rank 0 sends 3 messages of 8, 8, 8 numbers",
    ),
    "the library's own": (
        HEAD + "def all_reduce(flat):\n    dist.all_reduce(flat)\n",
        "Rank 0, line 6: AttributeError: dist.all_reduce is not on this page",
    ),
    "rank 2 fails": (
        solved(("    chunks = flat", "    if rank == 2:\n        flat[8]\n    chunks = flat")),
        "Rank 2, line 17: IndexError",
    ),
    "it ends the program": (
        HEAD + "def all_reduce(flat):\n    raise SystemExit(1)\n",
        "SystemExit: 1",
    ),
    "no Python": (SOLVED + "    for\n", "Line 26: SyntaxError"),
    "another name": (
        SOLVED.replace("def all_reduce", "def allreduce"),
        "no function all_reduce(flat)",
    ),
    "a part of torch that is not here": (
        solved(("torch.empty_like(mine)", "torch.stack([mine])")),
        "torch.stack is not on this page",
    ),
    "a tensor of another library": (
        solved(("dist.isend(leaving,", "dist.isend(leaving.tolist(),")),
        "dist.isend takes a tensor, not list",
    ),
}
