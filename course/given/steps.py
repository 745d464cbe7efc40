"""Training steps of a BERT, on 12 pairs in all, whatever the number of ranks."""

from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.data import nli


def train(
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    clip: Callable[[], Tensor],
    steps: Iterable[int],
) -> None:
    """Take these steps; rank 0 prints the mean loss, and the norm that `clip` returns."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = next(net.parameters()).device
    data = nli.tokenized("train", size=12 * 6)
    for step in steps:
        batch = data[12 * step + rank : 12 * (step + 1) : world_size]
        optimizer.zero_grad()
        loss = net(**{name: tensor.to(device) for name, tensor in batch.items()}).loss
        loss.backward()
        norm = clip()
        optimizer.step()
        dist.all_reduce(loss.detach())  # in place: the sum of the ranks' losses
        if rank == 0:
            mean = loss.item() / world_size
            print(f"step {step}: loss {mean:.5f}, norm {norm.item():.3f}, world size {world_size}")
