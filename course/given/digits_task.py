"""A small training task on handwritten digits; only the way to communicate changes."""

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.data import digits

BATCH = 8  # samples of each rank in a step
Pair = tuple[Tensor, Tensor]  # images (N, 1, 8, 8), labels (N,)


def model(width: int = 256) -> nn.Sequential:
    """Three layers from an image to the logits of ten digits, with equal weights on every rank.

    At the usual width it has 85,002 weights, or 340 kB of gradients in float32.
    """
    torch.manual_seed(0)
    first, last = nn.Linear(64, width), nn.Linear(width, 10)
    return nn.Sequential(nn.Flatten(), first, nn.ReLU(), nn.Linear(width, width), nn.ReLU(), last)


def batches(steps: int) -> Iterator[Pair]:
    """Yield random batches of this rank's share of the training set, the same in every run."""
    training, rank = digits.load()[0], dist.get_rank()
    mine = torch.arange(rank, len(training), dist.get_world_size())
    generator = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        yield training[mine[torch.randint(len(mine), (BATCH,), generator=generator)]]


def loss_of(net: nn.Module, batch: Pair) -> Tensor:
    """The mean cross-entropy of a batch."""
    images, labels = batch
    return nn.functional.cross_entropy(net(images), labels)


@torch.no_grad()
def validation_loss(net: nn.Module) -> float:
    """The loss on the digits that no rank trains on."""
    return loss_of(net, digits.load()[1][:]).item()
