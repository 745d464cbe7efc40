"""What the checks of `two_level` do on each rank: all-reduces over pretended nodes."""

import importlib

import torch
import torch.distributed as dist

from course.checks.engine.recorder import recorded


def groups() -> int:
    """How many process groups this rank has made."""
    return len(dist.distributed_c10d._world.pg_names)


def two_level(sizes: tuple[int, ...]) -> dict[int, dict]:
    """By number of ranks per node: the sum, what was called, and the groups made in a call."""
    module, results = importlib.import_module("two_level"), {}
    for size in sizes:
        reducer = module.TwoLevel(size)
        tensor, before = torch.full((2, 2), dist.get_rank() + 1.0), groups()
        with recorded() as calls:
            reducer.all_reduce(tensor)
        total = tensor.flatten().tolist()
        reducer.all_reduce(tensor)
        results[size] = {
            "sum": total,
            "again": tensor.flatten().tolist(),
            "calls": calls,
            "groups_in_call": groups() - before,
        }
    return results
