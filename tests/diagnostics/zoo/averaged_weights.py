"""An exponential moving average of the weights on each rank."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8))
)
average = AveragedModel(model.module, multi_avg_fn=get_ema_multi_avg_fn(0.99))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
batches = torch.randn(4, 2048, 256)
for step in range(30):
    model(batches[step % 4]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update_parameters(model.module)
dist.destroy_process_group()
