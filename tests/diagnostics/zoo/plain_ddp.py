"""DDP, a DataLoader with a DistributedSampler, two epochs."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
data = TensorDataset(torch.randn(20 * 128 * world, 512))
sampler = DistributedSampler(data)
loader = DataLoader(data, 128, sampler=sampler)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for (inputs,) in loader:
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
