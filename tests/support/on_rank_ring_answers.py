"""What a test does on each rank with the answers to the exercise of the page try_ring."""

import importlib
import sys

import torch
import torch.distributed as dist


def sums(names: list[str]) -> list[list[float]]:
    """What this rank holds after each of these modules has all-reduced ten numbers."""
    results = []
    for name in names:
        flat = torch.arange(1.0, 11.0) * 10 ** dist.get_rank()
        sys.modules.pop(name, None)
        importlib.import_module(name).all_reduce(flat)
        results.append(flat.tolist())
    return results
