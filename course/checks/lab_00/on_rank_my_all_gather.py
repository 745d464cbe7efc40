"""What the checks of my_all_gather do on each rank: run it and bring back what it did."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.engine.recorder import Call, recorded
from course.checks.lab_00.on_rank_numbers import kind_in_words, numbers, only
from course.checks.lab_00.on_rank_numbers import kinds as all_kinds


def _gather(mine: Tensor, received: list[Tensor]) -> list[Tensor]:
    importlib.import_module("my_all_gather").all_gather(received, mine)
    return received


def _empty() -> list[Tensor]:
    return [torch.empty(3) for _ in range(dist.get_world_size())]


def kinds() -> list[tuple[str, bool]]:
    """For each shape and dtype: whether every rank's numbers have arrived at their place."""
    world, found = range(dist.get_world_size()), []
    for shape, dtype in all_kinds(torch.bfloat16):
        everyones = [numbers(rank, shape=shape, dtype=dtype) for rank in world]
        mine = everyones[dist.get_rank()].clone()
        received = _gather(mine, [torch.full_like(tensor, -1) for tensor in everyones])
        right = all(map(torch.equal, received, everyones))
        found.append((kind_in_words(shape, dtype), right))
    return found


def in_place() -> tuple[bool, bool]:
    """Whether rows of the caller's tensor are filled, and whether the given tensor is unchanged."""
    world_size, rank = dist.get_world_size(), dist.get_rank()
    memory, mine = torch.full((world_size, 3), -1.0), numbers(rank)
    _gather(mine, list(memory))
    wanted = torch.stack([numbers(source) for source in range(world_size)])
    return torch.equal(memory, wanted), torch.equal(mine, numbers(rank))


def columns() -> bool:
    """Whether a column of a matrix, whose numbers do not lie side by side, arrives too."""
    everyones = [numbers(source, shape=(3, 2)) for source in range(dist.get_world_size())]
    received = _gather(everyones[dist.get_rank()][:, 1], _empty())
    return all(torch.equal(a, b[:, 1]) for a, b in zip(received, everyones, strict=True))


def twice() -> bool:
    """Whether a second call, with other numbers in the same memory, gives the second numbers."""
    received = [torch.full_like(tensor, -1.0) for tensor in _empty()]
    for place in (0, 1):
        _gather(numbers(dist.get_rank(), place), received)
    return all(torch.equal(got, numbers(source, 1)) for source, got in enumerate(received))


def calls() -> list[Call]:
    """What one call hands to `torch.distributed`."""
    with recorded() as calls:
        _gather(numbers(dist.get_rank()), _empty())
    return calls


def with_broadcast_only() -> None:
    """One call in which `broadcast` is all there is."""
    with only("broadcast"):
        _gather(numbers(dist.get_rank()), _empty())
