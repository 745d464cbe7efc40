"""A student learns from a frozen teacher that every rank has whole."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
teacher = nn.Sequential(
    nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)
).requires_grad_(False)
model = DistributedDataParallel(nn.Linear(256, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
batches = torch.randn(4, 2048, 256)
for step in range(30):
    with torch.no_grad():
        target = teacher(batches[step % 4])
    nn.functional.mse_loss(model(batches[step % 4]), target).backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
