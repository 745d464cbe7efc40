"""Schedules that have a `step` of their own; the script fails if they do not behave as usual."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import lr_scheduler

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
warm_restarts = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=20)
on_plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
torch.manual_seed(rank)
for step in range(40):
    loss = model(torch.randn(2048, 256)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    warm_restarts.step()
    if step % 10 == 9:
        total = loss.detach()
        dist.all_reduce(total)
        on_plateau.step(total.item())
assert warm_restarts.T_cur == 0 and warm_restarts.last_epoch == 40
assert on_plateau.last_epoch == 4
dist.destroy_process_group()
