"""fully_shard with two passes for each step, of which the last one sends."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)
)
fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
for _ in range(30):
    for number in range(2):
        model.set_requires_gradient_sync(number == 1)
        (model(torch.randn(2048, 256)).square().mean() / 2).backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
