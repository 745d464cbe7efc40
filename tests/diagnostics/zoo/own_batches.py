"""A batch sampler of its own: a list of the batches of this rank."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
data = TensorDataset(torch.randn(30 * 128 * world, 512))
order = torch.randperm(len(data)).tolist()[rank::world]
batches = [order[start : start + 128] for start in range(0, len(order), 128)]
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for (inputs,) in DataLoader(data, batch_sampler=batches):
    for _ in range(2):
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
