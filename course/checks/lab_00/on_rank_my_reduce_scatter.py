"""What the checks of my_reduce_scatter do on each rank: run it and bring back what it did."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.engine.recorder import Call, recorded
from course.checks.lab_00.on_rank_numbers import kind_in_words, numbers, only
from course.checks.lab_00.on_rank_numbers import kinds as all_kinds


def _reduce(parts: list[Tensor], result: Tensor, **options: object) -> Tensor:
    importlib.import_module("my_reduce_scatter").reduce_scatter(result, parts, **options)
    return result


def _parts(rank: int, **kind: object) -> list[Tensor]:
    """What a rank gives: one tensor for each place."""
    return [numbers(rank, place, **kind) for place in range(dist.get_world_size())]


def _everyones(place: int, **kind: object) -> Tensor:
    """What all ranks give for one place, in rows."""
    return torch.stack([_parts(rank, **kind)[place] for rank in range(dist.get_world_size())])


def kinds() -> list[tuple[str, bool]]:
    """For each shape and dtype: whether this rank has the sum of its part, over older numbers."""
    rank, found = dist.get_rank(), []
    for shape, dtype in all_kinds(torch.float64):
        kind = {"shape": shape, "dtype": dtype}
        result = _reduce(_parts(rank, **kind), torch.full(shape, 77, dtype=dtype))
        right = torch.equal(result, _everyones(rank, **kind).sum(0))
        found.append((kind_in_words(shape, dtype), right))
    return found


def in_place() -> tuple[bool, bool]:
    """Whether a row of the caller's tensor is filled, and whether the parts are unchanged."""
    rank, memory = dist.get_rank(), torch.full((2, 3), -1.0)
    parts = _parts(rank)
    _reduce(parts, memory[1])
    wanted = torch.stack([torch.full((3,), -1.0), _everyones(rank).sum(0)])
    return torch.equal(memory, wanted), all(map(torch.equal, parts, _parts(rank)))


def largest() -> bool:
    """Whether `op=MAX` gives the maximum."""
    rank = dist.get_rank()
    result = _reduce(_parts(rank), torch.empty(3), op=dist.ReduceOp.MAX)
    return torch.equal(result, _everyones(rank).amax(0))


def calls() -> list[Call]:
    """What one call hands to `torch.distributed`."""
    with recorded() as calls:
        _reduce(_parts(dist.get_rank()), torch.empty(3))
    return calls


def with_reduce_only() -> None:
    """One call in which `reduce` is all there is."""
    with only("reduce"):
        _reduce(_parts(dist.get_rank()), torch.empty(3))
