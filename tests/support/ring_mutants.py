"""Wrong answers to the exercise of the page try_ring, and what its check must say of them."""

from support.ring_answers import BEGUN, GATHER, HEAD, SCATTER, SOLVED, TALK, edited, solved

# By what is wrong: the source, and a part of what the check must say.
WRONG = {
    "the code that the editor begins with": (
        BEGUN,
        "They wait in a circle, 0 → 1 → 2 → 3 → 0. A send",
    ),
    "one round alone": (
        edited(
            BEGUN,
            ("dist.send(leaving, right)", "work = dist.isend(leaving, right)"),
            ("    mine +=", "    work.wait()\n    mine +="),
        ),
        "what ranks 1, 2, 3 hold is not in it",
    ),
    "all receive first": (
        solved(
            (
                TALK,
                TALK.replace("work = dist.isend(", "dist.send(").replace("    work.wait()\n", ""),
            )
        )
        .replace("    dist.send(leaving, (rank + 1) % n)\n", "")
        .replace("(rank - 1) % n)\n", "(rank - 1) % n)\n    dist.send(leaving, (rank + 1) % n)\n"),
        "Each of them wants to receive before it sends",
    ),
    "no way round from the last rank": (
        solved(("(rank + 1) % n)\n    dist", "rank + 1)\n    dist")),
        "Rank 3, line 8: ValueError: dist.isend: the other rank is 4",
    ),
    "a chunk off by one": (
        solved(("(rank - k) % n], received)", "(rank - k - 1) % n], received)")),
        "is in it too often",
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
    "one round too few": (
        solved((SCATTER, SCATTER.replace("range(n - 1)", "range(n - 2)"))),
        "is not in it",
    ),
    "one round too many": (
        solved((SCATTER, SCATTER.replace("range(n - 1)", "range(n)"))),
        "With 1 rank and 3 numbers: Rank 0, line 8: ValueError",
    ),
    "no second half": (solved((GATHER, "")), "8 of 32 numbers are complete sums"),
    "the second half adds, too": (
        solved((GATHER, SCATTER.replace("rank - k", "rank + 1 - k"))),
        "is in it too often",
    ),
    "what comes is kept and not added": (
        solved(("        mine += received", "        mine.copy_(received)")),
        "is not in it",
    ),
    "the mean": (SOLVED + "    flat /= n\n", "that is the mean"),
    "the sum in a new tensor": (
        solved(("    chunks = flat", "    flat = flat.clone()\n    chunks = flat")),
        "what ranks 1, 2, 3 hold is not in it",
    ),
    "the send is never waited for": (
        solved(("    work.wait()\n", "")),
        "Rank 0 never waits for its isend to rank 1, line 8",
    ),
    "the receive is never waited for": (
        solved(("dist.recv(coming", "dist.irecv(coming")),
        "never waits for its irecv",
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
    "what is being sent is changed": (
        solved(("    work.wait()", "    leaving += 1\n    work.wait()")),
        "was changed before wait()",
    ),
    "whole buffers go round": (
        HEAD
        + """def all_reduce(flat):
    rank, n = dist.get_rank(), dist.get_world_size()
    total, going = flat.clone(), flat.clone()
    parts = {rank: flat.clone()}
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
    "a ring to the left": (
        solved(
            (
                "(rank + 1) % n)\n    dist.recv(coming, (rank - 1) % n)",
                "(rank - 1) % n)\n    dist.recv(coming, (rank + 1) % n)",
            )
        )
        .replace("rank - k - 1", "rank + k + 1")
        .replace("rank - k", "rank + k")
        .replace("rank + 1 - k", "rank - 1 + k"),
        "this is not a ring: rank 0 sends to rank 3",
    ),
    "the library's own": (
        HEAD + "def all_reduce(flat):\n    dist.all_reduce(flat)\n",
        "Rank 0 calls dist.all_reduce, line 6: use messages alone",
    ),
    "a barrier in each round": (
        solved(("    work.wait()\n", "    work.wait()\n    dist.barrier()\n")),
        "calls dist.barrier",
    ),
    "for four ranks only": (
        solved(("dist.get_rank(), dist.get_world_size()", "dist.get_rank(), 4")),
        "With 1 rank and 3 numbers:",
    ),
    "for even lengths only": (
        solved(("torch.empty_like(mine)", "torch.empty_like(chunks[0])")),
        "numbers come from rank",
    ),
    "the first numbers of each chunk only": (
        solved(
            (
                "    chunks = flat.tensor_split(n)",
                "    each = len(flat) // n\n"
                "    chunks = [flat[i * each:(i + 1) * each] for i in range(n)]",
            )
        ),
        "instead of",
    ),
    "rank 0 leaves early": (
        solved(("    chunks = flat", "    if rank == 0:\n        return\n    chunks = flat")),
        "waits for rank 0, which has come to its end.",
    ),
    "rank 2 fails": (
        solved(("    chunks = flat", "    if rank == 2:\n        flat[8]\n    chunks = flat")),
        "Rank 2, line 17: IndexError: index 8 is out of bounds",
    ),
    "a barrier that one rank does not come to": (
        solved(("    chunks = flat", "    if rank:\n        dist.barrier()\n    chunks = flat")),
        "Rank 1 waits in barrier, line 17: dist.barrier()",
    ),
    "every error is caught": (
        solved(
            (TALK, "    try:\n" + TALK.replace("    ", "        ") + "    except:\n        pass\n")
        ),
        "write `except Exception:`",
    ),
    "it depends on time": (
        solved(
            (
                "    chunks = flat",
                "    import time\n    flat += time.perf_counter()\n    chunks = flat",
            )
        ),
        "did something else",
    ),
    "it sends forever": (
        HEAD
        + """def all_reduce(flat):
    while True:
        dist.isend(flat, (dist.get_rank() + 1) % 4)
""",
        "more than 500 calls: does the loop end?",
    ),
    "no Python": (SOLVED + "    for\n", "Line 26: SyntaxError"),
    "another name": (
        SOLVED.replace("def all_reduce", "def allreduce"),
        "no function all_reduce(flat)",
    ),
    "nothing": ("", "no function all_reduce(flat)"),
    "a part of torch that is not here": (
        solved(("torch.empty_like(mine)", "torch.stack([mine])")),
        "torch.stack is not on this page",
    ),
    "a tensor of another library": (
        solved(("dist.isend(leaving,", "dist.isend(leaving.tolist(),")),
        "dist.isend takes a tensor, not list",
    ),
    "it ends the program": (
        HEAD + "def all_reduce(flat):\n    raise SystemExit(1)\n",
        "SystemExit: 1",
    ),
}
