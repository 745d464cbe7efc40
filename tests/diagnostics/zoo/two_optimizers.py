"""One backward pass, and an optimizer for each half of the model."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.Sequential(
    nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)
)
model = DistributedDataParallel(net)
first = torch.optim.SGD(net[:2].parameters(), lr=0.01)
second = torch.optim.Adam(net[2:].parameters(), lr=1e-4)
torch.manual_seed(rank)
for _ in range(30):
    model(torch.randn(1024, 256)).square().mean().backward()
    for optimizer in (first, second):
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
