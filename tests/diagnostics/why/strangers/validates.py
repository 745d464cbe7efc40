"""Only rank 0 validates, and the others wait: ``torchrun --nproc-per-node 2 validates.py``."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
model = DistributedDataParallel(net)
optimizer = torch.optim.Adam(model.parameters())
torch.manual_seed(dist.get_rank())
held_out = torch.randn(20_000, 256)


def validate() -> float:
    """Predict all held-out samples."""
    with torch.no_grad():
        return net(held_out).argmax(1).float().mean().item()


for step in range(40):
    model(torch.randn(256, 256)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 2 == 0:
        if dist.get_rank() == 0:
            validate()
        dist.barrier()
dist.destroy_process_group()
