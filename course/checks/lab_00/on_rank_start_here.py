"""What the checks of start_here do on each rank."""

import importlib

import torch
import torch.distributed as dist

from course.checks.tools.loose_ends import describe_loose_ends

# By rank. Sums and means over 2 and 3 of them are exact, and no other average is the same.
NUMBERS = (1.5, -4.5, 9.0)
MORE = 3 * 2**-30  # added to each in 64-bit floats; lost in 32 bits
DTYPES = (torch.float32, torch.float64)


def number(rank: int, dtype: torch.dtype) -> float:
    """The number of a rank in that dtype."""
    return NUMBERS[rank] + (MORE if dtype == torch.float64 else 0)


def mean(number: float, dtype: torch.dtype = torch.float32) -> float:
    """What the learner's function makes of this rank's number."""
    tensor = torch.tensor([number], dtype=dtype)
    importlib.import_module("start_here").mean_of_ranks(tensor)
    return tensor.item()


def means() -> list[tuple[torch.dtype, float, float]]:
    """For each dtype: what this rank has, and what it should have."""
    world, results = range(dist.get_world_size()), []
    for dtype in DTYPES:
        expected = sum(number(rank, dtype) for rank in world) / len(world)
        results.append((dtype, mean(number(dist.get_rank(), dtype), dtype), expected))
    return results


def not_finite() -> list[tuple[float, float]]:
    """Average an infinity and a NaN of rank 0: (what rank 0 gives, what this rank gets)."""
    mine = NUMBERS[dist.get_rank()]
    return [(odd, mean(mine if dist.get_rank() else odd)) for odd in (torch.inf, torch.nan)]


def loose_ends() -> str:
    """What a call leaves undone or behind."""
    expected = sum(NUMBERS[: dist.get_world_size()]) / dist.get_world_size()
    return describe_loose_ends(lambda: mean(NUMBERS[dist.get_rank()]) == expected)
