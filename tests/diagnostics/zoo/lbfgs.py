"""An optimizer that calls a closure several times."""

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
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3, history_size=2)
torch.manual_seed(rank)
inputs = torch.randn(1024, 256)


def closure():
    optimizer.zero_grad()
    loss = model(inputs).square().mean()
    loss.backward()
    return loss


for _ in range(30):
    optimizer.step(closure)
dist.destroy_process_group()
