"""A DDP model that sends nothing: ``torchrun --nproc-per-node 2 idle.py HOW``.

HOW: the forward goes ``past`` it, or all passes are ``quiet``, inside no_sync.
"""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

how = sys.argv[1]
torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(30):
    inputs = torch.randn(1024, 256)
    if how == "past":
        model.module(inputs).square().mean().backward()
    else:
        with model.no_sync():
            model(inputs).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
