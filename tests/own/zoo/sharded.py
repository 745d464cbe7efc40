"""fully_shard on each block and on the whole."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
mesh = init_device_mesh("cpu", (world,))
model = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.Tanh()) for _ in range(2)))
for block in model:
    fully_shard(block, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
torch.manual_seed(rank)
batches = torch.randn(4, 2048, 256)
for step in range(30):
    model(batches[step % 4]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
