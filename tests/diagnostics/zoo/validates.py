"""All ranks validate every tenth step, each its part, and add up what they find."""

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
held_back = torch.randn(1024, 256)
for step in range(1, 31):
    model(torch.randn(1024, 256)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        model.eval()
        with torch.no_grad():
            total = torch.stack([model.module(held_back).sum(), torch.tensor(1024.0)])
        dist.all_reduce(total)
        model.train()
dist.destroy_process_group()
