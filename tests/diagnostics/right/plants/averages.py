"""A model beside the trained one, first called late: ``averages.py MAKE FAULT``, on any ranks."""

import copy
import os
import sys

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
import torch.distributed as dist
from planted import BATCH, RANK, WORLD, Net, Samples
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

make, fault = sys.argv[1:3]
last = 30 if fault == "late" else 11  # the step after which the average is first called
torch.set_num_threads(1)
torch.manual_seed(RANK)
module = Net()
average = copy.deepcopy(module)
optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
data = Samples(BATCH * WORLD * 16)
if make == "with_accelerate":
    from accelerate import Accelerator

    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(
        module, optimizer, DataLoader(data, BATCH, shuffle=True)
    )
else:
    dist.init_process_group("gloo")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, BATCH, sampler=sampler)
    model = DistributedDataParallel(module) if make == "with_ddp" else module
    for parameter in module.parameters():
        dist.broadcast(parameter.data, 0)
if fault not in ("copied before", "late"):
    average = copy.deepcopy(module)
average.requires_grad_(False)
if make == "sharded":
    fully_shard(average)
    fully_shard(module)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
mine = last + (RANK if fault == "by turns" else 0)
if fault == "rank 0 alone" and RANK > 0:
    mine = -1
step = 0
for epoch in range(3):
    if make != "with_accelerate":
        sampler.set_epoch(epoch)
    for inputs, labels in loader:
        loss = cross_entropy(model(inputs), labels)
        if make == "with_accelerate":
            accelerator.backward(loss)
        else:
            loss.backward()
        if make == "by_hand":
            for parameter in module.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= WORLD
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        with torch.no_grad():
            for mean, new in zip(average.parameters(), module.parameters(), strict=True):
                mean.lerp_(new, 0.1)
            if fault == "built late" and step == 7:
                teacher = nn.Linear(16, 4)  # teacher
            if fault == "built late" and step > 7:
                teacher(inputs)
            elif fault == "each its own copy" and step % 10 == 9:
                copy.deepcopy(module).eval()(inputs)
            elif step == mine:
                average(inputs)  # average
                if make == "sharded":
                    average.reshard()
dist.destroy_process_group()
