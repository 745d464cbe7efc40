"""Skips a batch whose loss is a spike; only rank 0's loss is asked."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.005)
torch.manual_seed(9 + rank)


def spike(loss):
    """Whether this batch is bad, as rank 0 sees it."""
    flag = torch.tensor(float(loss.item() > 50 or not torch.isfinite(loss)))
    dist.broadcast(flag, 0)
    return bool(flag)


for step in range(60):
    inputs = torch.randn(16, 8)
    if rank == 1 and step in (20, 41):
        inputs = inputs * 20  # a broken file
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    if spike(loss):
        if rank == 0:
            print(f"step {step}: skipped", flush=True)
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 in (0, 19, 1) and rank == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
