"""Only the last layer is trained, the rest is frozen."""

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
net[:4].requires_grad_(False)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(net[4].parameters(), lr=0.01)
torch.manual_seed(rank)
batches = torch.randn(4, 4096, 256)
for step in range(30):
    model(batches[step % 4]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
