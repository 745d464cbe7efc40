"""What the checks of lab 02 do on each rank: run all-reduces, bring back what they did."""

import functools
import importlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.tools.loose_ends import describe_loose_ends
from course.checks.tools.recorder import forbidden, recorded
from course.core import dist_names

DTYPES = (torch.int64, torch.bfloat16, torch.float16, torch.float32, torch.float64)


def numbers(rank: int, shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> Tensor:
    """What a rank holds: numbers whose sums over a few ranks are exact, whatever their order.

    No narrower dtype holds those in 64-bit integers and floats.
    """
    generator = torch.Generator().manual_seed(1000 + rank)
    # Past 2⁵³ a detour over floating point would show.
    # bfloat16 has 8 bits, so its sums up to 256 are exact.
    low, high = (-(2**60), 2**60) if dtype == torch.int64 else (-31, 32)
    drawn = torch.randint(low, high, shape, generator=generator).to(dtype)
    return drawn * (1 + 2**-40) if dtype == torch.float64 else drawn


def with_odd_ends(rank: int, dtype: torch.dtype) -> Tensor:
    """Ten numbers of a rank; floats end with an infinity on rank 0 and with a NaN on rank 1."""
    tensor = numbers(rank, (10,), dtype)
    if dtype.is_floating_point and rank < 2:
        tensor[-1 - rank] = (torch.inf, torch.nan)[rank]
    return tensor


def total(world_size: int, shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> Tensor:
    """The reference: one process adds up what all ranks hold."""
    everyones = torch.stack([numbers(rank, shape, dtype) for rank in range(world_size)])
    return everyones.sum(0, dtype=dtype)


def ways(module: str, names: tuple[str, ...]) -> dict[str, Callable[[Tensor], None]]:
    """The learner's functions by name."""
    return {name: getattr(importlib.import_module(module), name) for name in names}


def sums(module: str, names: tuple[str, ...], shapes: tuple) -> dict[str, dict]:
    """By name of the function: what it leaves on this rank for integers of each shape."""
    left: dict[str, dict] = {}
    for name, all_reduce in ways(module, names).items():
        left[name] = {shape: numbers(dist.get_rank(), shape) for shape in shapes}
        for tensor in left[name].values():
            all_reduce(tensor)
    return left


def sums_of_dtypes(module: str, names: tuple[str, ...]) -> dict[str, dict]:
    """By name of the function: what it leaves on this rank for ten numbers of each dtype."""
    left: dict[str, dict] = {}
    for name, all_reduce in ways(module, names).items():
        left[name] = {dtype: with_odd_ends(dist.get_rank(), dtype) for dtype in DTYPES}
        for tensor in left[name].values():
            all_reduce(tensor)
    return left


def views(module: str, names: tuple[str, ...]) -> dict[str, tuple[Tensor, Tensor]]:
    """A transposed view with gaps, reduced in place: the view, and the columns in its gaps."""
    left = {}
    for name, all_reduce in ways(module, names).items():
        whole = numbers(dist.get_rank(), (4, 6))
        all_reduce(whole[:, ::2].t())
        left[name] = whole[:, ::2].t().contiguous(), whole[:, 1::2].contiguous()
    return left


def rough(rank: int) -> Tensor:
    """Numbers of a rank, of very different sizes, whose float32 sum depends on the order."""
    generator = torch.Generator().manual_seed(rank)
    drawn = torch.randn(500, generator=generator)
    return drawn * 10.0 ** torch.randint(-6, 7, (500,), generator=generator)


def rounded(module: str, names: tuple[str, ...]) -> dict[str, Tensor]:
    """By name of the function: what it makes of the rough numbers."""
    left = {}
    for name, all_reduce in ways(module, names).items():
        left[name] = rough(dist.get_rank())
        all_reduce(left[name])
    return left


def traffic(
    module: str, names: tuple[str, ...], lengths: tuple[int, ...]
) -> dict[str, list[list[tuple[int, int]]]]:
    """The messages of this rank by name of the function, for each length: (to whom, bytes).

    The numbers are of a 16-bit dtype, so each takes 2 bytes.
    """
    sent = {}
    with recorded("isend") as calls:  # `send` and `batch_isend_irecv` come through it, too
        for name, all_reduce in ways(module, names).items():
            sent[name] = []
            for length in lengths:
                calls.clear()
                all_reduce(numbers(dist.get_rank(), (length,), torch.bfloat16))
                sent[name].append([(call.to, call.nbytes) for call in calls])
    return sent


def without_library(module: str, names: tuple[str, ...]) -> dict[str, Tensor]:
    """Compute a sum while torch's own collectives raise errors."""
    message = "it calls one of torch's collectives, {name}; only single messages are allowed"
    with forbidden(dist_names.COLLECTIVES + dist_names.BARRIERS, message):
        left = {}
        for name, all_reduce in ways(module, names).items():
            left[name] = numbers(dist.get_rank(), (12,))
            all_reduce(left[name])
    return left


def loose_ends(module: str, names: tuple[str, ...]) -> dict[str, str]:
    """By name of the function: what a call leaves undone or behind."""

    def right(all_reduce: Callable[[Tensor], None]) -> bool:
        tensor = numbers(dist.get_rank(), (12,))
        all_reduce(tensor)
        return torch.equal(tensor, total(dist.get_world_size(), (12,)))

    return {
        name: describe_loose_ends(functools.partial(right, all_reduce))
        for name, all_reduce in ways(module, names).items()
    }
