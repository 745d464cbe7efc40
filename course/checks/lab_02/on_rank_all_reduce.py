"""What the checks of lab 02 do on each rank: run all-reduces, bring back what they did."""

import importlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.engine.recorder import COLLECTIVES, forbidden, recorded

DTYPES = (torch.int64, torch.bfloat16, torch.float16, torch.float32, torch.float64)


def numbers(rank: int, shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> Tensor:
    """What a rank holds: numbers whose sums over a few ranks are exact, whatever their order."""
    generator = torch.Generator().manual_seed(1000 + rank)
    # Past 2⁵³ a detour over floating point would show.
    # bfloat16 has 8 bits, so its sums up to 256 are exact.
    low, high = (-(2**60), 2**60) if dtype == torch.int64 else (0, 32)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def total(world_size: int, shape: tuple[int, ...], dtype: torch.dtype = torch.int64) -> Tensor:
    """The reference: one process adds up what all ranks hold."""
    everyones = torch.stack([numbers(rank, shape, dtype) for rank in range(world_size)])
    return everyones.sum(0, dtype=dtype)


def ways(module: str, names: tuple[str, ...]) -> dict[str, Callable[[Tensor], None]]:
    """The learner's functions by name."""
    return {name: getattr(importlib.import_module(module), name) for name in names}


def sums(
    module: str, names: tuple[str, ...], shapes: tuple, dtypes: tuple = (torch.int64,)
) -> dict[str, dict]:
    """By name of the function: what it leaves on this rank for each shape and dtype."""
    left: dict[str, dict] = {}
    for name, all_reduce in ways(module, names).items():
        for shape in shapes:
            for dtype in dtypes:
                tensor = numbers(dist.get_rank(), shape, dtype)
                all_reduce(tensor)
                left.setdefault(name, {})[shape, dtype] = tensor
    return left


def views(module: str, names: tuple[str, ...]) -> dict[str, tuple[Tensor, Tensor]]:
    """A transposed view with gaps, reduced in place: the view, and the columns in its gaps."""
    left = {}
    for name, all_reduce in ways(module, names).items():
        whole = numbers(dist.get_rank(), (4, 6))
        all_reduce(whole[:, ::2].t())
        left[name] = whole[:, ::2].t().contiguous(), whole[:, 1::2].contiguous()
    return left


def rounded(module: str, names: tuple[str, ...]) -> dict[str, Tensor]:
    """Numbers of very different sizes, whose float32 sum depends on the order."""
    left = {}
    generator = torch.Generator().manual_seed(dist.get_rank())
    for name, all_reduce in ways(module, names).items():
        tensor = torch.randn(500, generator=generator)
        tensor *= 10.0 ** torch.randint(-6, 7, (500,), generator=generator)
        all_reduce(tensor)
        left[name] = tensor
    return left


def traffic(
    module: str, names: tuple[str, ...], lengths: tuple[int, ...]
) -> dict[str, list[list[tuple[int, int]]]]:
    """The messages of this rank by name of the function, for each length: (to whom, elements)."""
    sent = {}
    with recorded("isend") as calls:  # `send` and `batch_isend_irecv` come through it, too
        for name, all_reduce in ways(module, names).items():
            sent[name] = []
            for length in lengths:
                calls.clear()
                all_reduce(numbers(dist.get_rank(), (length,)))
                sent[name].append([(call.to, call.elements) for call in calls])
    return sent


def without_library(module: str, names: tuple[str, ...]) -> dict[str, Tensor]:
    """A sum with torch's own collectives made unusable."""
    message = "it calls one of torch's collectives; only single messages are allowed"
    with forbidden(COLLECTIVES, message):
        left = {}
        for name, all_reduce in ways(module, names).items():
            left[name] = numbers(dist.get_rank(), (12,))
            all_reduce(left[name])
    return left
