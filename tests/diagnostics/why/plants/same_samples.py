"""All ranks draw the same samples: ``torchrun --nproc-per-node 2 same_samples.py HOW``.

HOW: a ``stream`` that is not dealt, a ``sampler`` with one rank's share for all, ``batches`` of a
sampler of its own, or ``plain``: no sampler at all.
"""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, TensorDataset

how = sys.argv[1]
torch.set_num_threads(1)
dist.init_process_group("gloo")
world = dist.get_world_size()
torch.manual_seed(0)
data = TensorDataset(torch.randn(64 * 30 * world, 256))


class Stream(IterableDataset):
    """Gives all rows, one after another."""

    def __iter__(self) -> object:
        return iter(data)


if how == "stream":
    loader = DataLoader(Stream(), 64)
elif how == "sampler":
    loader = DataLoader(data, 64, sampler=DistributedSampler(data, num_replicas=world, rank=0))
elif how == "batches":
    rows = range(0, len(data) - 64, 64)
    loader = DataLoader(data, batch_sampler=[list(range(row, row + 64)) for row in rows])
else:
    loader = DataLoader(data, 64)
model = DistributedDataParallel(nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for number, (inputs,) in enumerate(loader):
    model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if number == 29:
        break
dist.destroy_process_group()
