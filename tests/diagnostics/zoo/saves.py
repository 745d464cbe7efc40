"""Rank 0 saves a small model every tenth step, and no rank waits for it."""

import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
with tempfile.TemporaryDirectory() as folder:
    for step in range(1, 31):
        model(torch.randn(2048, 256)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0 and rank == 0:
            torch.save(model.module.state_dict(), f"{folder}/{step}.pt")
dist.destroy_process_group()
