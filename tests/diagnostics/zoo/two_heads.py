"""In each step another head is used, so DDP must search for the unused one."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
        self.heads = nn.ModuleList([nn.Linear(256, 8), nn.Linear(256, 8)])

    def forward(self, x, number):
        return self.heads[number](self.body(x))


model = DistributedDataParallel(Net(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
for step in range(30):
    model(torch.randn(2048, 256), step % 2).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
