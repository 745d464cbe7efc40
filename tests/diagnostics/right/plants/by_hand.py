"""Gradients averaged by hand: ``torchrun --nproc-per-node 2 by_hand.py FAULT FOLDER``."""

import sys

import torch
import torch.distributed as dist
from planted import BATCH, LAST, RANK, STEPS, WORLD, net
from torch import nn
from torch.nn.functional import mse_loss

fault = sys.argv[1]
dist.init_process_group("gloo")
module = net()
if fault == "start":
    torch.manual_seed(RANK)
    module = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))  # start
if fault == "clips in hooks":
    for parameter in module.parameters():
        parameter.register_hook(lambda gradient: gradient * min(1, 0.01 / gradient.norm()))  # hook
rate = 0.05 * (RANK + 1) if fault == "learning rate" else 0.05
optimizer = torch.optim.SGD(module.parameters(), lr=rate)  # optimizer
kept = [parameter.detach().clone() for parameter in module.parameters()]
generator = torch.Generator().manual_seed(0 if fault == "same data" else 10 + RANK)
for step in range(STEPS):
    inputs = torch.randn(BATCH, 16, generator=generator)
    loss = mse_loss(module(inputs), inputs[:, :4])  # call
    loss.backward()  # backward
    if fault == "clip":
        nn.utils.clip_grad_norm_(module.parameters(), 0.05)  # clip
    pending = []
    for number, parameter in enumerate(module.parameters()):
        if fault == "never averages" or (fault == "some" and number == 1):
            continue
        if fault == "no wait":
            parameter.grad /= WORLD
            pending.append(dist.all_reduce(parameter.grad, async_op=True))  # message
            continue
        if fault == "a copy":
            dist.all_reduce(parameter.grad.clone())
            continue
        dist.all_reduce(parameter.grad)
        if fault != "added":
            parameter.grad /= WORLD**2 if fault == "twice" else WORLD
    if fault == "skipped step" and LAST and step == 7:
        optimizer.zero_grad()
        continue
    optimizer.step()  # step
    if fault != "not zeroed":
        optimizer.zero_grad()
    if fault == "weights put back" and LAST and step == 7:
        for parameter, value in zip(module.parameters(), kept, strict=True):
            parameter.data.copy_(value)  # back
    del pending[:]
dist.destroy_process_group()
