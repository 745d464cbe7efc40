"""What the checks of `two_level` do on each rank: all-reduces over pretended nodes."""

import importlib

import torch
import torch.distributed as dist

from course.checks.tools.leaks import count_process_groups
from course.checks.tools.recorder import recorded


def two_level(cases: tuple[tuple[int, torch.dtype, float], ...]) -> list[dict]:
    """By case (ranks per node, type, factor): the sum, what was called, the groups made in a call.

    The numbers of a rank are 1, 11, 21 and 31 plus the rank, all times the factor. A second call
    gets a longer tensor: the sums of the first, and then the rank's numbers.
    """
    module, results = importlib.import_module("two_level"), []
    for size, dtype, factor in cases:
        reducer = module.TwoLevel(size)
        numbers = torch.arange(4).view(2, 2) * 10 + dist.get_rank() + 1
        own = numbers.to(dtype) * factor
        tensor, before = own.clone(), count_process_groups()
        with recorded() as calls:
            reducer.all_reduce(tensor)
        longer = torch.cat((tensor, own))
        reducer.all_reduce(longer)
        results.append(
            {
                "sum": tensor.flatten().tolist(),
                "again": longer.flatten().tolist(),
                "calls": calls,
                "groups_in_call": count_process_groups() - before,
            }
        )
    return results
