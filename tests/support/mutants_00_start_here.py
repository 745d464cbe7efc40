"""Wrong answers to the exercises of lab 00."""

from support.mutants import Mutant

START_HERE = [
    Mutant("a sum, not a mean", "start_here", "test_mean", "    number /= dist.get_world_size()\n", ""),
    Mutant("divided by two", "start_here", "test_mean", "dist.get_world_size()", "2"),
    Mutant("only rank 0 knows", "start_here", "test_mean", "dist.all_reduce(number)", "dist.reduce(number, dst=0)"),
    Mutant("each rank on its own", "start_here", "test_mean", "    dist.all_reduce(number)\n", ""),
    Mutant("a new number", "start_here", "test_mean", "number /= dist", "number = number / dist"),
    Mutant("the largest", "start_here", "test_mean", "dist.all_reduce(number)",
           "dist.all_reduce(number, op=dist.ReduceOp.MAX)"),
    Mutant("rank 0's", "start_here", "test_mean", "dist.all_reduce(number)", "dist.broadcast(number, src=0)"),
    Mutant("divided first, before the sum, and after", "start_here", "test_mean", "    dist.all_reduce(number)\n",
           "    number /= dist.get_world_size()\n    dist.all_reduce(number)\n"),
]  # fmt: skip

OWN = "    received[dist.get_rank()].copy_(mine)\n"
LOOP = """    for source, tensor in enumerate(received):
        dist.broadcast(tensor, src=source)
"""


def gather(name: str, check: str, old: str, new: str) -> Mutant:
    """A wrong all-gather."""
    return Mutant(name, "my_all_gather", check, old, new)


MY_ALL_GATHER = [
    gather("its own tensor is forgotten", "test_numbers", OWN, ""),
    gather("its own tensor is put there after it was sent", "test_numbers", OWN + LOOP, LOOP + OWN),
    gather("rank 0 is the source each time", "test_numbers", "src=source", "src=0"),
    gather("two ranks, always", "test_numbers", "enumerate(received)", "enumerate(received[:2])"),
    gather("the last rank is never the source", "test_numbers", "enumerate(received)", "enumerate(received[:-1])"),
    gather("in the order of the ranks seen from here", "test_numbers", LOOP,
           LOOP + "    rank = dist.get_rank()\n    copies = [t.clone() for t in received]\n"
           "    for i, t in enumerate(received):\n        t.copy_(copies[(i + rank) % len(copies)])\n"),
    gather("backwards", "test_numbers", LOOP,
           LOOP + "    copies = [t.clone() for t in received]\n"
           "    for t, copy in zip(received, reversed(copies)):\n        t.copy_(copy)\n"),
    gather("through 32-bit floats", "test_numbers", LOOP,
           "    for source, tensor in enumerate(received):\n        number = tensor.float()\n"
           "        dist.broadcast(number, src=source)\n        tensor.copy_(number)\n"),
    gather("one number of each tensor", "test_numbers", "        dist.broadcast(tensor, src=source)\n",
           "        dist.broadcast(tensor.view(-1)[:1], src=source)\n"),
    gather("the list is filled, not its tensors", "test_in_place", OWN + LOOP,
           "    for source in range(len(received)):\n        tensor = mine.clone()\n"
           "        dist.broadcast(tensor, src=source)\n        received[source] = tensor\n"),
    gather("its own place in the list is `mine`", "test_in_place", OWN, "    received[dist.get_rank()] = mine\n"),
    gather("`mine` is what is sent around", "test_in_place", OWN + LOOP,
           "    own = mine.clone()\n    for source, tensor in enumerate(received):\n"
           "        if source == dist.get_rank():\n            mine.copy_(own)\n"
           "        dist.broadcast(mine, src=source)\n        tensor.copy_(mine)\n"),
    gather("memory read as if there were no gaps", "test_columns", "copy_(mine)",
           "copy_(torch.as_strided(mine, mine.shape, torch.empty(mine.shape).stride()))"),
    gather("a second call adds up", "test_twice", "].copy_(mine)",
           "].copy_(mine + received[dist.get_rank()].clamp(min=0))"),
    gather("everything is sent twice", "test_messages", LOOP, 2 * LOOP),
    gather("each source sends all that it has", "test_messages", OWN + LOOP,
           "    for source in range(len(received)):\n        everything = torch.stack([mine] * len(received))\n"
           "        dist.broadcast(everything, src=source)\n        received[source].copy_(everything[0])\n"),
    gather("a sum over zeros", "test_only_broadcast", LOOP,
           "    for i, tensor in enumerate(received):\n        if i != dist.get_rank():\n            tensor.zero_()\n"
           "        dist.all_reduce(tensor)\n"),
    gather("torch's own", "test_only_broadcast", OWN + LOOP, "    dist.all_gather(received, mine)\n"),
]  # fmt: skip

BODY = """    for destination, part in enumerate(parts):
        total = part.clone()                         # reduce writes into it, on every rank
        dist.reduce(total, dst=destination, op=op)
        if destination == dist.get_rank():
            result.copy_(total)
"""


def reduce(name: str, check: str, old: str, new: str) -> Mutant:
    """A wrong reduce-scatter."""
    return Mutant(name, "my_reduce_scatter", check, old, new)


MY_REDUCE_SCATTER = [
    reduce("what is left of the last reduce", "test_sums",
           "        if destination == dist.get_rank():\n            result.copy_(total)\n",
           "        result.copy_(total)\n"),
    reduce("rank 0 gets every sum", "test_sums", "dst=destination", "dst=0"),
    reduce("everyone's first part", "test_sums", "part.clone()", "parts[0].clone()"),
    reduce("its own part, not everyone's", "test_sums", "result.copy_(total)", "result.copy_(part)"),
    reduce("the mean", "test_sums", "result.copy_(total)", "result.copy_(total / dist.get_world_size())"),
    reduce("added to what was there", "test_sums", "result.copy_(total)", "result.add_(total)"),
    reduce("two ranks, always", "test_sums", "enumerate(parts)", "enumerate(parts[:2])"),
    reduce("shifted by one", "test_sums", "if destination == dist.get_rank()",
           "if destination == (dist.get_rank() + 1) % len(parts)"),
    reduce("through 32-bit floats", "test_sums", "part.clone()", "part.float()"),
    reduce("the parts are reduced in place", "test_in_place", "part.clone()", "part"),
    reduce("another tensor is called result", "test_in_place", "result.copy_(total)", "result = total"),
    reduce("the result lies in the caller's part", "test_in_place", BODY,
           "    for destination, part in enumerate(parts):\n        dist.reduce(part, dst=destination, op=op)\n"
           "    result.copy_(parts[dist.get_rank()])\n"),
    reduce("always the sum", "test_largest", ", op=op)", ")"),
    reduce("always the minimum", "test_largest", "op=op", "op=dist.ReduceOp.MIN if op != dist.ReduceOp.SUM else op"),
    reduce("all parts to each rank", "test_messages", BODY,
           "    for destination in range(len(parts)):\n        total = torch.stack(parts)\n"
           "        dist.reduce(total, dst=destination, op=op)\n"
           "        if destination == dist.get_rank():\n            result.copy_(total[destination])\n"),
    reduce("a reduce too many", "test_messages", BODY, "    dist.reduce(result.clone(), dst=0)\n" + BODY),
    reduce("the all-reduce of everything", "test_only_reduce", BODY,
           "    total = torch.stack(parts)\n    dist.all_reduce(total, op=op)\n"
           "    result.copy_(total[dist.get_rank()])\n"),
    reduce("torch's own", "test_only_reduce", BODY, "    dist.reduce_scatter(result, parts, op=op)\n"),
    reduce("added up at rank 0, then dealt out", "test_only_reduce", BODY,
           "    total = torch.stack(parts)\n    dist.reduce(total, dst=0, op=op)\n"
           "    dist.scatter(result, list(total) if dist.get_rank() == 0 else None, src=0)\n"),
]  # fmt: skip

MUTANTS = START_HERE + MY_ALL_GATHER + MY_REDUCE_SCATTER
