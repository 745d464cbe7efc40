"""Wrong answers to the exercises of lab 02."""

from support.mutants import Mutant

STAR_UP = """            dist.irecv(received, other).wait()
            flat += received
"""
STAR_DOWN = """        for work in [dist.isend(flat, other) for other in range(1, world_size)]:
            work.wait()
"""
OTHERS = """        dist.isend(flat, 0).wait()
        dist.irecv(flat, 0).wait()
"""
STAR = f"""    if rank == 0:
        received = torch.empty_like(flat)
        for other in range(1, world_size):
{STAR_UP}{STAR_DOWN}    else:
{OTHERS}"""
BATCH = """    for work in dist.batch_isend_irecv(messages) if messages else []:
        work.wait()
"""
ADD = """    flat.zero_()
    for part in parts:
        flat += part
"""
PAIR = """            messages.append(dist.P2POp(dist.irecv, parts[other], other))
            messages.append(dist.P2POp(dist.isend, flat, other))
"""

SIMPLE_WAYS = [
    Mutant("all receive first", "simple_ways", "test_ends", OTHERS,
           "        received = torch.empty_like(flat)\n        dist.irecv(received, 0).wait()\n"
           "        dist.isend(flat, 0).wait()\n        flat.copy_(received)\n"),
    Mutant("works for two ranks only", "simple_ways", "test_sum", STAR,
           "    if rank < 2:\n        other = 1 - rank\n        received = torch.empty_like(flat)\n"
           "        if world_size > 1:\n            for work in dist.batch_isend_irecv([\n"
           "                dist.P2POp(dist.irecv, received, other), dist.P2POp(dist.isend, flat, other),\n"
           "            ]):\n                work.wait()\n            flat += received\n"),
    Mutant("rank 0 keeps only what came last", "simple_ways", "test_sum", STAR_UP,
           STAR_UP.replace("flat += received", "flat.copy_(received)")),
    Mutant("no broadcast", "simple_ways", "test_sum", STAR_DOWN + "    else:\n" + OTHERS,
           "    else:\n        dist.isend(flat, 0).wait()\n"),
    Mutant("its own numbers are forgotten", "simple_ways", "test_sum",
           "flat.clone() if other == rank", "torch.zeros_like(flat) if other == rank"),
    Mutant("its own numbers are added twice", "simple_ways", "test_sum", "    flat.zero_()\n", ""),
    Mutant("does not wait for what it receives", "simple_ways", "test_sum", BATCH + ADD,
           "    works = dist.batch_isend_irecv(messages) if messages else []\n" + ADD
           + "    for work in works:\n        work.wait()\n"),
    Mutant("at least two ranks", "simple_ways", "test_one_rank", " if messages else []", ""),
    Mutant("adds up in float32", "simple_ways", "test_dtypes", ADD,
           "    flat.copy_(sum(part.float() for part in parts))\n"),
    Mutant("receives into float32", "simple_ways", "test_dtypes", "        received = torch.empty_like(flat)\n",
           "        received = torch.empty(flat.numel())\n"),
    Mutant("a new tensor holds the sum", "simple_ways", "test_in_place", ADD,
           "    flat = torch.stack(parts).sum(0)\n"),
    Mutant("views with gaps are not written back", "simple_ways", "test_in_place",
           "            tensor.copy_(flat.view_as(tensor))\n", "            pass\n"),
    Mutant("the transposed view is laid out anew", "simple_ways", "test_in_place",
           "tensor.copy_(flat.view_as(tensor))", "tensor.copy_(flat.view(tensor.shape[::-1]).t())"),
    Mutant("each rank begins with its own numbers", "simple_ways", "test_same_bits", ADD,
           "    for other in range(world_size):\n        if other != rank:\n            flat += parts[other]\n"),
    Mutant("added from the left neighbour backwards", "simple_ways", "test_same_bits", "    for part in parts:\n",
           "    for part in parts[rank:] + parts[:rank]:\n"),
    Mutant("torch adds up", "simple_ways", "test_own_work", STAR, "    dist.all_reduce(flat)\n"),
    Mutant("torch gathers", "simple_ways", "test_own_work", BATCH, "    dist.all_gather(parts, flat.clone())\n"),
    Mutant("one number at a time", "simple_ways", "test_messages", STAR,
           "    for flat in flat.split(1):\n" + "".join(f"    {line}\n" for line in STAR.splitlines())),
    Mutant("all-to-all through rank 0", "simple_ways", "test_messages",
           '''    """Everyone sends everyone its numbers; everyone adds them up alone, all in the same order."""
''', '''    """Everyone sends everyone its numbers; everyone adds them up alone, all in the same order."""
    return reduce_broadcast.__wrapped__(flat)
'''),
]  # fmt: skip

EXCHANGE = """    for work in dist.batch_isend_irecv([receive, send]):
        work.wait()
"""
SCATTER = """        mine = chunks[(rank - k - 1) % world_size]
        received = room[:len(mine)]
        exchange(chunks[(rank - k) % world_size], received)
        mine += received
"""
GATHER = "        exchange(chunks[(rank + 1 - k) % world_size], chunks[(rank - k) % world_size])\n"
GATHER_LOOP = "    for k in range(world_size - 1):\n" + GATHER
PHASES = """    reduce_scatter(chunks)
    all_gather(chunks)
"""
WHOLE = """    outgoing = flat.clone()
    for _ in range(dist.get_world_size() - 1):
        incoming = torch.empty_like(flat)
        exchange(outgoing, incoming)
        flat += incoming
        outgoing = incoming
"""

RING = [
    Mutant("sends before it receives", "ring", "test_ends", EXCHANGE,
           "    left, right = (rank - 1) % world_size, (rank + 1) % world_size\n"
           "    dist.isend(outgoing, right).wait()\n    dist.irecv(incoming, left).wait()\n"),
    Mutant("listens to the right neighbour", "ring", "test_ends",
           "receive = dist.P2POp(dist.irecv, incoming, (rank - 1) % world_size)",
           "receive = dist.P2POp(dist.irecv, incoming, (rank + 1) % world_size)"),
    Mutant("what does not fit is left out", "ring", "test_sum", "flat.tensor_split(dist.get_world_size())",
           "flat[:len(flat) // dist.get_world_size() * dist.get_world_size()].tensor_split(dist.get_world_size())"),
    Mutant("fewer chunks than ranks for short vectors", "ring", "test_sum", "flat.tensor_split(dist.get_world_size())",
           "flat.chunk(dist.get_world_size())"),
    Mutant("the last chunk is lost", "ring", "test_sum", PHASES, PHASES.replace("    all_gather(chunks)\n",
           "    last = chunks[-1].clone()\n    all_gather(chunks)\n    chunks[-1].copy_(last)\n")),
    Mutant("copies instead of views", "ring", "test_sum", "flat.tensor_split(dist.get_world_size())",
           "[chunk.clone() for chunk in flat.tensor_split(dist.get_world_size())]"),
    Mutant("one rank is doubled", "ring", "test_one_rank", PHASES,
           "    if len(chunks) == 1:\n        flat += flat\n" + PHASES),
    Mutant("adds up in float32", "ring", "test_dtypes", "        mine += received\n",
           "        mine.copy_(mine.float() + received.float())\n"),
    Mutant("receives float32", "ring", "test_dtypes", "torch.empty_like(chunks[0])", "torch.empty(len(chunks[0]))"),
    Mutant("the sum is in a new tensor", "ring", "test_in_place", "    chunks = flat.tensor_split",
           "    flat = flat.clone()\n    chunks = flat.tensor_split"),
    Mutant("whole buffers go round, added as they come", "ring", "test_same_bits", PHASES, WHOLE),
    Mutant("whole buffers go round, added in order", "ring", "test_bytes", PHASES,
           "    parts = {dist.get_rank(): flat.clone()}\n"
           + WHOLE.replace("        flat += incoming\n        outgoing = incoming\n",
                           "        outgoing = incoming\n        parts[len(parts), 0] = incoming\n")
           + "    world_size, rank = dist.get_world_size(), dist.get_rank()\n"
           "    ordered = list(parts.values())\n    flat.zero_()\n    for other in range(world_size):\n"
           "        flat += ordered[(rank - other) % world_size]\n"),
    Mutant("torch adds up", "ring", "test_own_work", PHASES, "    dist.all_reduce(flat)\n"),
    Mutant("replaces instead of adding", "ring", "test_reduce_scatter", "        mine += received\n",
           "        mine.copy_(received)\n"),
    Mutant("one round too few", "ring", "test_reduce_scatter",
           "    for k in range(world_size - 1):\n        mine", "    for k in range(world_size - 2):\n        mine"),
    Mutant("sends its own chunk in every round", "ring", "test_reduce_scatter",
           "        exchange(chunks[(rank - k) % world_size], received)\n",
           "        exchange(chunks[rank][:len(received)], received)\n"),
    Mutant("another chunk is complete than promised", "ring", "test_reduce_scatter", SCATTER,
           SCATTER.replace("rank - k - 1", "rank - k - 2").replace("(rank - k)", "(rank - k - 1)")),
    Mutant("all-gather begins with the wrong chunk", "ring", "test_all_gather", GATHER,
           "        exchange(chunks[(rank - k) % world_size], chunks[(rank - k - 1) % world_size])\n"),
    Mutant("all-gather adds", "ring", "test_all_gather", GATHER,
           "        received = torch.empty_like(chunks[(rank - k) % world_size])\n"
           "        exchange(chunks[(rank + 1 - k) % world_size], received)\n"
           "        chunks[(rank - k) % world_size].add_(received)\n"),
    Mutant("all-gather stops a round early", "ring", "test_all_gather", GATHER_LOOP,
           GATHER_LOOP.replace("world_size - 1", "world_size - 2")),
    Mutant("the complete chunks go straight to everyone", "ring", "test_neighbours", "    all_gather(chunks)\n",
           "    rank, size = dist.get_rank(), dist.get_world_size()\n    messages = []\n"
           "    for other in range(size):\n"
           "        if other != rank:\n"
           "            messages.append(dist.P2POp(dist.irecv, chunks[(other + 1) % size], other))\n"
           "            messages.append(dist.P2POp(dist.isend, chunks[(rank + 1) % size], other))\n"
           "    for work in dist.batch_isend_irecv(messages) if messages else []:\n        work.wait()\n"),
    Mutant("each chunk in two messages", "ring", "test_neighbours", EXCHANGE,
           "    half = len(outgoing) // 2, len(incoming) // 2\n    works = []\n"
           "    for part in (slice(None, half[1]), slice(half[1], None)):\n"
           "        works.append(dist.irecv(incoming[part], (rank - 1) % world_size))\n"
           "    for part in (slice(None, half[0]), slice(half[0], None)):\n"
           "        works.append(dist.isend(outgoing[part], (rank + 1) % world_size))\n"
           "    for work in works:\n        work.wait()\n"),
]  # fmt: skip

MUTANTS = SIMPLE_WAYS + RING
