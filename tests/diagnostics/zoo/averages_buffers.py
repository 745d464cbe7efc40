"""Each rank keeps its own statistics of batch norm; they are averaged before each evaluation."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
layers = [nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 8)]
model = DistributedDataParallel(nn.Sequential(*layers), broadcast_buffers=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
for _ in range(3):
    model.train()
    for _ in range(10):
        model(torch.randn(1024, 256)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    for buffer in model.buffers():
        if buffer.is_floating_point():
            dist.all_reduce(buffer)
            buffer /= world
    model.eval()
    with torch.no_grad():
        loss = model(torch.randn(1024, 256)).square().mean()
    dist.all_reduce(loss)
dist.destroy_process_group()
