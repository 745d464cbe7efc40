"""What the checks of my_reduce_scatter do on each rank: run it and bring back what it did."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.lab_00.on_rank_numbers import (
    KINDS,
    VECTOR,
    TensorKind,
    calls_of,
    numbers,
    only,
    same,
)
from course.checks.tools.loose_ends import describe_loose_ends
from course.checks.tools.recorder import Call


def _reduce(parts: list[Tensor], result: Tensor, **options: object) -> Tensor:
    importlib.import_module("my_reduce_scatter").reduce_scatter(result, parts, **options)
    return result


def _parts(rank: int, kind: TensorKind = VECTOR) -> list[Tensor]:
    """What a rank gives: one tensor for each place."""
    return [numbers(rank, place, kind) for place in range(dist.get_world_size())]


def _everyones(place: int, kind: TensorKind = VECTOR) -> Tensor:
    """What all ranks give for one place, in rows."""
    return torch.stack([_parts(rank, kind)[place] for rank in range(dist.get_world_size())])


def _right(kind: TensorKind = VECTOR) -> bool:
    """Whether this rank has the sum of its part, over older numbers."""
    rank = dist.get_rank()
    expected = _everyones(rank, kind).sum(0, dtype=kind.dtype)
    return same(_reduce(_parts(rank, kind), kind.unset()), expected)


def kinds() -> list[tuple[str, bool]]:
    """For each shape and dtype: whether the sum is right."""
    return [(str(kind), _right(kind)) for kind in KINDS]


def in_place() -> tuple[bool, bool]:
    """Whether a row of the caller's tensor is filled, and whether parts of any kind stay as they
    are.
    """
    rank, memory = dist.get_rank(), torch.full((2, 3), -1.0)
    _reduce(_parts(rank), memory[1])
    expected = torch.stack([torch.full((3,), -1.0), _everyones(rank).sum(0)])
    unchanged = True
    for kind in KINDS:
        parts = _parts(rank, kind)
        _reduce(parts, kind.unset())
        unchanged &= all(map(same, parts, _parts(rank, kind)))
    return torch.equal(memory, expected), unchanged


def operations() -> list[tuple[str, bool]]:
    """For the sum and for other operations: whether this rank has their result."""
    rank, results = dist.get_rank(), [("SUM", _right())]
    for name, expected in {
        "MAX": _everyones(rank).amax(0),
        "MIN": _everyones(rank).amin(0),
        "PRODUCT": _everyones(rank).prod(0),
    }.items():
        result = _reduce(_parts(rank), VECTOR.unset(), op=getattr(dist.ReduceOp, name))
        results.append((name, same(result, expected)))
    return results


def loose_ends() -> str:
    """What a call leaves undone or behind."""
    return describe_loose_ends(_right)


def calls() -> list[Call]:
    """What one call hands to `torch.distributed`."""
    return calls_of(_right)


def with_reduce_only() -> None:
    """One call in which `reduce` is all there is."""
    with only("reduce"):
        _right()
