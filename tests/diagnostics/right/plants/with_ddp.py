"""A plain loop around DDP: ``torchrun --nproc-per-node 2 with_ddp.py FAULT FOLDER``."""

import contextlib
import sys

import torch
import torch.distributed as dist
from planted import BATCH, LAST, RANK, WORLD, Samples, net
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

fault, folder = sys.argv[1:3]
dist.init_process_group("gloo")
module = net(0.1 if fault == "mode" else 0.0)
if fault == "clamps in hooks":
    for parameter in module.parameters():
        parameter.register_hook(lambda gradient: gradient.clamp(-0.001, 0.001))  # hook
model = DistributedDataParallel(module)
if fault == "start" and LAST:
    nn.init.zeros_(module.head.weight)  # start
rate = 0.1 * (RANK + 1) if fault == "learning rate" else 0.1
decay = 0.01 if fault == "settings" and LAST else 0.0
trained = list(module.body.parameters()) if fault == "never updated" else model.parameters()
optimizer = torch.optim.SGD(trained, lr=rate, momentum=0.9, weight_decay=decay)  # optimizer
if fault == "never updated":
    optimizer.add_param_group({"params": [module.head.weight]})
data = Samples(BATCH * WORLD * 6)
sampler = DistributedSampler(data)
if fault == "same data":
    sampler = DistributedSampler(data, num_replicas=WORLD, rank=0)
loader = DataLoader(data, BATCH, sampler=sampler)  # loader
teacher = nn.Linear(16, 4)
if fault == "other model":
    torch.manual_seed(RANK)
    teacher = nn.Linear(16, 4)  # teacher
kept = {name: value.clone() for name, value in module.state_dict().items()}
passes = 2 if fault in ("factor", "schedule") else 1
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1000)
step = number = 0
for epoch in range(6 * passes):
    if fault != "order of epochs":
        sampler.set_epoch(epoch + (RANK if fault == "ranks' epochs" else 0))
    for inputs, labels in loader:  # epochs
        number += 1
        if fault in ("other model", "distills"):
            with torch.no_grad():
                labels = teacher(inputs).argmax(1)
        if fault == "mode" and step == 5 and LAST:
            model.eval()
        autocast = torch.autocast("cpu", torch.bfloat16, enabled=LAST)
        with autocast if fault == "precision" else contextlib.nullcontext():
            called = model.module if fault == "past DDP" else model
            with model.no_sync() if fault == "no_sync" else contextlib.nullcontext():
                scores = called(inputs)  # call
                loss = cross_entropy(scores.float(), labels)
                if fault == "non-finite" and LAST and step == 9:
                    loss = loss * float("inf")
                if fault == "mean of means":
                    labels[1 : 1 if RANK == 0 else BATCH] = -100
                    loss = cross_entropy(scores, labels)
                if fault == "schedule":
                    loss = loss / passes
                loss.backward()  # backward
        if fault == "schedule":
            schedule.step()  # schedule
        if number % passes:
            continue
        if fault == "changed gradient" and LAST:
            module.head.weight.grad.mul_(0.5)
        if fault == "clip" and LAST:
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # clip
        if fault == "skipped step" and LAST and step == 12:
            step += 1
            optimizer.zero_grad()
            continue
        optimizer.step()  # step
        step += 1
        if fault != "not zeroed":
            optimizer.zero_grad()
        if fault == "drift" and LAST and step == 8:
            with torch.no_grad():
                module.head.bias += 0.1
        if fault == "weights put back" and LAST and step == 8:
            module.load_state_dict(kept)  # back
        if fault == "same file" and step % 10 == 0:
            torch.save(module.state_dict(), f"{folder}/model.pt")  # file
        if fault == "loss in a file" and step == 10:
            with open(f"{folder}/loss.txt", "w") as file:  # text
                file.write(str(loss.item()))
dist.destroy_process_group()
