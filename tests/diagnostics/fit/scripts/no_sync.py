"""Four backward passes per step, of which DDP sends only the last; AdamW without foreach."""

import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256))
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
for _ in range(4):
    for number in range(4):
        with model.no_sync() if number < 3 else contextlib.nullcontext():
            (model(torch.randn(128, 256)).square().mean() / 4).backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
