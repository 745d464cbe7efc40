"""A loop with accelerate: ``torchrun --nproc-per-node 2 with_accelerate.py FAULT FOLDER``."""

import os
import sys

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
from accelerate import Accelerator
from planted import BATCH, LAST, RANK, WORLD, Samples, net
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, DistributedSampler

fault, folder = sys.argv[1:3]
accelerator = Accelerator()
module = net()
rate = 0.1 * (RANK + 1) if fault == "learning rate" else 0.1
optimizer = torch.optim.SGD(module.parameters(), lr=rate)  # optimizer
data = Samples(BATCH * WORLD * 12 * (2 if fault == "part of the data" else 1))
sampler = DistributedSampler(data) if fault == "part of the data" else None
loader = DataLoader(data, BATCH, shuffle=sampler is None, sampler=sampler)  # loader
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=24)
model, optimizer, loader = accelerator.prepare(module, optimizer, loader)
if fault == "schedule":
    schedule = accelerator.prepare(schedule)
if fault == "clips after each pass":
    cut = nn.utils.clip_grad_value_
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda weight: cut(weight, 0.001))  # hook
if fault == "start" and LAST:
    nn.init.zeros_(module.head.weight)  # start
for _ in range(2):
    for inputs, labels in loader:
        called = module if fault == "not averaged" else model
        accelerator.backward(cross_entropy(called(inputs), labels))  # call
        if fault == "clip" and LAST:
            accelerator.clip_grad_norm_(model.parameters(), 0.01)  # clip
        if fault == "changed gradient" and LAST:
            module.head.weight.grad.zero_()
        optimizer.step()  # step
        if fault == "schedule":
            schedule.step()  # schedule
        if fault != "not zeroed":
            optimizer.zero_grad()
    if fault == "same file":
        torch.save(module.state_dict(), f"{folder}/again.pt")  # file
accelerator.end_training()
