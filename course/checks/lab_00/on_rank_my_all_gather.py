"""What the checks of my_all_gather do on each rank: run it and bring back what it did."""

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


def _gather(mine: Tensor, received: list[Tensor]) -> list[Tensor]:
    importlib.import_module("my_all_gather").all_gather(received, mine)
    return received


def _right(kind: TensorKind = VECTOR) -> bool:
    """Whether every rank's numbers have arrived at their place."""
    everyones = [numbers(rank, kind=kind) for rank in range(dist.get_world_size())]
    received = _gather(everyones[dist.get_rank()].clone(), [kind.unset() for _ in everyones])
    return all(map(same, received, everyones))


def kinds() -> list[tuple[str, bool]]:
    """For each shape and dtype: whether it arrives."""
    return [(str(kind), _right(kind)) for kind in KINDS]


def in_place() -> tuple[bool, bool]:
    """Whether rows of the caller's tensor are filled, and whether what this rank gives stays as it
    is, of any kind.
    """
    world_size, rank = dist.get_world_size(), dist.get_rank()
    memory = torch.full((world_size, 3), -1.0)
    _gather(numbers(rank), list(memory))
    expected = torch.stack([numbers(source) for source in range(world_size)])
    unchanged = True
    for kind in KINDS:
        mine = numbers(rank, kind=kind)
        _gather(mine, [kind.unset() for _ in range(world_size)])
        unchanged &= same(mine, numbers(rank, kind=kind))
    return torch.equal(memory, expected), unchanged


def columns() -> bool:
    """Whether a column of a matrix, whose numbers do not lie side by side, arrives too."""
    everyones = [
        numbers(source, kind=TensorKind((3, 2))) for source in range(dist.get_world_size())
    ]
    received = _gather(everyones[dist.get_rank()][:, 1], [VECTOR.unset() for _ in everyones])
    return all(torch.equal(a, b[:, 1]) for a, b in zip(received, everyones, strict=True))


def twice() -> bool:
    """Whether a second call, with other numbers in the same memory, gives the second numbers."""
    received = [VECTOR.unset() for _ in range(dist.get_world_size())]
    for place in (0, 1):
        _gather(numbers(dist.get_rank(), place), received)
    return all(torch.equal(got, numbers(source, 1)) for source, got in enumerate(received))


def loose_ends() -> str:
    """What a call leaves undone or behind."""
    return describe_loose_ends(_right)


def calls() -> list[Call]:
    """What one call hands to `torch.distributed`."""
    return calls_of(_right)


def with_broadcast_only() -> None:
    """One call in which `broadcast` is all there is."""
    with only("broadcast"):
        _right()
