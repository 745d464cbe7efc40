"""What the checks of my_clip do on each rank."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.lab_10.on_rank_sharding import seeded
from course.checks.tools.reference import furthest


def _clip_grad_norm(shards: list[nn.Parameter], max_norm: float) -> Tensor:
    return importlib.import_module("my_clip").clip_grad_norm(shards, max_norm)


def _shards() -> list[nn.Parameter]:
    """Two shards on this rank, with gradients that differ by rank, the last rank's largest."""
    rank = dist.get_rank()
    shards = [nn.Parameter(torch.zeros(size)) for size in (5, 3)]
    for i, shard in enumerate(shards):
        shard.grad = _gradient(rank, i)
    return shards


def _gradient(rank: int, i: int) -> Tensor:
    return seeded(10 * rank + i, 5 - 2 * i) * (rank + 1)


def _all_gradients() -> list[Tensor]:
    return [_gradient(rank, i) for rank in range(dist.get_world_size()) for i in (0, 1)]


def clipped(share: float) -> tuple[str, float, float, float]:
    """Clip to `share` of the norm: the type of the norm that is returned, its value, the true
    one, and how far gradients are off.
    """
    norm = torch.cat(_all_gradients()).norm().item()
    shards = _shards()
    got = _clip_grad_norm(shards, share * norm)
    expected = [_gradient(dist.get_rank(), i) * min(1.0, share) for i in (0, 1)]
    off = furthest([shard.grad for shard in shards], expected)
    return type(got).__name__, float(got), norm, off


def tiny(norm: float) -> float:
    """How far gradients of a norm far below the limit are off after clipping."""
    shards = _shards()
    factor = norm / torch.cat(_all_gradients()).norm().item()
    for shard in shards:
        shard.grad *= factor
    before = [shard.grad.clone() for shard in shards]
    _clip_grad_norm(shards, 1.0)
    return furthest([shard.grad for shard in shards], before)


def overflowed() -> float:
    """The norm that is returned when a gradient on the last rank has an infinite number."""
    shards = _shards()
    if dist.get_rank() == dist.get_world_size() - 1:
        shards[0].grad[0] = torch.inf
    return float(_clip_grad_norm(shards, 1.0))
