"""Rank 0 saves in each step: ``torchrun --nproc-per-node 2 saves.py HOW FOLDER``.

HOW: with ``safetensors``, which the script imports after it has begun, or ``checkpoint``: all ranks
with torch.distributed.checkpoint.
"""

import sys

import torch
import torch.distributed as dist
from torch import nn

how, folder = sys.argv[1:3]
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
large = {"large": torch.ones(20_000_000)}
if how == "safetensors":
    from safetensors.torch import save_file
else:
    from torch.distributed.checkpoint import save
for step in range(30):
    model(torch.randn(64, 256)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if how == "safetensors" and rank == 0:
        save_file(large, f"{folder}/all.safetensors")
    elif how == "checkpoint":
        save(large, checkpoint_id=f"{folder}/{step}")
    dist.barrier()
dist.destroy_process_group()
