"""Four passes for each step, three of them inside no_sync, forward and backward."""

from contextlib import nullcontext

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
for _ in range(30):
    for number in range(4):
        with nullcontext() if number == 3 else model.no_sync():
            (model(torch.randn(512, 256)).square().mean() / 4).backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
