"""Training steps of a BERT, on 12 pairs in all, whatever the number of ranks."""

from collections.abc import Iterable
from functools import cache

import torch
import torch.distributed as dist
from torch import nn

from course.data import nli


def train(
    net: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device, steps: Iterable[int]
) -> None:
    """Take these steps on a device; rank 0 prints the mean loss."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for step in steps:
        optimizer.zero_grad()
        loss = net(**batch(step, device)).loss
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())  # in place: the sum of the ranks' losses
        if rank == 0:
            print(f"step {step}: loss {loss.item() / world_size:.5f}, ranks: {world_size}")


def batch(step: int, device: torch.device) -> dict[str, torch.Tensor]:
    """This rank's share of the pairs of a step from 0 to 5."""
    pairs = slice(12 * step + dist.get_rank(), 12 * (step + 1), dist.get_world_size())
    return {name: tensor.to(device) for name, tensor in _tokenized()[pairs].items()}


@cache  # so that no later step tokenizes again
def _tokenized() -> nli.Tokenized:
    return nli.tokenized("train", size=12 * 6)
