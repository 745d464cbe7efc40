"""One model, of which each rank keeps shards: ``torchrun --nproc-per-node 2 sharded.py FAULT``.

Its last layer has one row, so that all ranks but the first have none of it.
"""

import sys

import torch
import torch.distributed as dist
from planted import BATCH, RANK, STEPS, WORLD
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

fault = sys.argv[1]
dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
fully_shard(model, mesh=init_device_mesh("cpu", (WORLD,)))
rate = 0.05 * (RANK + 1) if fault == "learning rate" else 0.05
optimizer = torch.optim.SGD(model.parameters(), lr=rate)  # optimizer
model.train(fault != "mode" or RANK > 0)
generator = torch.Generator().manual_seed(0 if fault == "same data" else 10 + RANK)
for _ in range(STEPS):
    inputs = torch.randn(BATCH, 16, generator=generator)
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()  # call
    optimizer.zero_grad()
    loss.backward()
    if fault == "clip":
        shards = [parameter.grad.to_local() for parameter in model.parameters()]
        norm = torch.cat([shard.flatten() for shard in shards]).norm()
        for shard in shards:
            shard /= norm
    else:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
dist.destroy_process_group()
