"""Four passes that all average: ``torchrun --nproc-per-node 2 accumulates.py HOW``.

HOW: ``plain`` DDP, ``around backward`` is a no_sync alone, ``fully_shard``, ``by hand``, or
``accelerate``.
"""

import os
import sys
from contextlib import nullcontext

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

how = sys.argv[1]
PASSES = 4
torch.set_num_threads(1)
if how == "accelerate":
    from accelerate import Accelerator

    accelerator = Accelerator()
else:
    dist.init_process_group("gloo")
world = dist.get_world_size()
torch.manual_seed(0)
# Cheap to compute, and long to send.
model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024))
if how == "fully_shard":
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
elif how in ("plain", "around backward"):
    model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if how == "accelerate":
    model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(30):
    for number in range(PASSES):
        loss = model(torch.randn(8, 1024)).square().mean() / PASSES
        quiet = how == "around backward" and number < PASSES - 1
        with model.no_sync() if quiet else nullcontext():
            if how == "accelerate":
                accelerator.backward(loss)
            else:
                loss.backward()
        if how == "by hand":
            flat = torch.cat([p.grad.flatten() for p in model.parameters()])
            dist.all_reduce(flat)
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
