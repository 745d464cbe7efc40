"""What the checks of my_hsdp do on each rank."""

import importlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.lab_10.on_rank_sharding import seeded
from course.checks.lab_10c.on_rank_same_groups import GroupsDiffer, same_groups
from course.given.sent import Traffic

SIZE = 24  # of a flat gradient: every row of the checks divides it


def row(rank: int, world_size: int, copies: int) -> list[int]:
    """The ranks that share a copy with this one."""
    shares = world_size // copies
    return list(range(rank // shares * shares, (rank // shares + 1) * shares))


def column(rank: int, world_size: int, copies: int) -> list[int]:
    """The ranks that hold the same shard as this one."""
    shares = world_size // copies
    return list(range(rank % shares, world_size, shares))


def right(
    rank: int,
    world_size: int,
    copies: int,
    members: Callable[[int, int, int], list[int]] | None = None,
) -> Tensor:
    """A rank's part of the mean gradient of all ranks, or of the `members` of a group of it."""
    everyone = members(rank, world_size, copies) if members else range(world_size)
    mean = torch.stack([seeded(member, SIZE) for member in everyone]).mean(0)
    return mean.chunk(world_size // copies)[rank % (world_size // copies)]


def differing(copies: int) -> str:
    """How the groups that the ranks make differ, "" if all make the same ones."""
    try:
        _groups(copies)
    except GroupsDiffer as difference:
        return str(difference)
    return ""


def members(copies: int) -> tuple[list[int], list[int]] | None:
    """The ranks of the learner's row and column, None if the ranks make different groups."""
    try:
        groups = _groups(copies)
    except GroupsDiffer:
        return None
    return tuple(sorted(dist.get_process_group_ranks(group)) for group in groups)


def averaged(copies: int) -> Tensor:
    """What the learner's function makes of this rank's flat gradient."""
    return _average(copies).detach().clone()


def messages(copies: int) -> list[tuple[int, tuple[int, ...]]]:
    """The elements that this rank gives to each message of the learner's function, and its ranks.

    The largest tensor of an all-gather into one tensor is its result, with a part of each rank.
    """
    with Traffic() as seen:
        _average(copies)
    return [
        (
            message.elements // (len(message.ranks) if message.name == "allgatherbase" else 1),
            message.ranks,
        )
        for message in seen.messages
    ]


def _groups(copies: int) -> tuple[dist.ProcessGroup, dist.ProcessGroup]:
    with same_groups():
        return importlib.import_module("my_hsdp").groups(copies)


def _average(copies: int) -> Tensor:
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mine = []
    for of in (row, column):
        every = sorted({tuple(of(member, world_size, copies)) for member in range(world_size)})
        mine.append(dist.new_subgroups_by_enumeration([list(group) for group in every])[0])
    return importlib.import_module("my_hsdp").average(seeded(rank, SIZE), *mine)
