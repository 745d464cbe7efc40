"""What the checks of ring do on each rank with the two halves of its all-reduce."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.lab_02.on_rank_all_reduce import numbers, total


def scattered(length: int) -> tuple[Tensor, list[int]]:
    """After the ring's reduce-scatter: the whole buffer, and where its chunks begin."""
    flat = numbers(dist.get_rank(), (length,))
    chunks = list(flat.tensor_split(dist.get_world_size()))
    importlib.import_module("ring").reduce_scatter(chunks)
    return flat, starts(chunks)


def gathered(length: int) -> Tensor:
    """The ring's all-gather alone: only chunk (rank + 1) % world size is right when it begins."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    flat = torch.full((length,), -1)
    chunks = list(flat.tensor_split(world_size))
    mine = (rank + 1) % world_size
    chunks[mine].copy_(total(world_size, (length,)).tensor_split(world_size)[mine])
    importlib.import_module("ring").all_gather(chunks)
    return flat


def starts(chunks: list[Tensor]) -> list[int]:
    """The index of each chunk's first element, and behind the last chunk its end."""
    ends = torch.tensor([0, *(len(chunk) for chunk in chunks)]).cumsum(0)
    return ends.tolist()
