"""An average and the best weights of a model, as deep copies of it, with the values of buffers."""

import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = nn.Sequential(nn.Linear(64, 1024), nn.BatchNorm1d(1024), nn.ReLU(), nn.Linear(1024, 64))
model.register_buffer("positions", torch.tensor([float(i) for i in range(4096)]))
average = AveragedModel(model, use_buffers=True)
ddp = DistributedDataParallel(model)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.01)
for _ in range(4):
    ddp(torch.randn(32, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update_parameters(model)
    best = copy.deepcopy(model.state_dict())
dist.destroy_process_group()
