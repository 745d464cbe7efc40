"""Batches come from a generator, not a DataLoader: ``torchrun --nproc-per-node 2 iterator.py``."""

import time
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


def batches(count: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches that are slow, as if each were read from a file."""
    for _ in range(count):
        time.sleep(0.08)
        yield torch.randn(64, 128), torch.randint(0, 10, (64,))


dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, labels in batches(30):
    optimizer.zero_grad()
    cross_entropy(model(inputs), labels).backward()
    optimizer.step()
dist.destroy_process_group()
