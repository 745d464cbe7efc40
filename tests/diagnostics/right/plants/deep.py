"""Trainings to compare with one process: ``torchrun --nproc-per-node 2 deep.py WHAT``."""

import contextlib
import sys

import torch
import torch.distributed as dist
from planted import BATCH, WIDTH, WORLD, Samples, net
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

what = sys.argv[1]
dist.init_process_group("gloo")
data = Samples()
if what in ("mean of means", "sum over all", "lengths"):
    data.labels[torch.arange(len(data)) % 4 == 1] = -100  # nearly all of rank 1's
    data.labels[torch.arange(len(data)) % 16 == 1] = 2
collate = None
if what == "lengths":

    def collate(rows: list) -> tuple[torch.Tensor, torch.Tensor]:
        """Each rank cuts its samples to another length."""
        inputs, labels = torch.utils.data.default_collate(rows)
        return nn.functional.pad(inputs, (0, dist.get_rank())), labels


sampler = DistributedSampler(data, shuffle=False)
loader = DataLoader(data, BATCH, sampler=sampler, collate_fn=collate)
module = net(0.3)
if what == "start by ranks":
    nn.init.constant_(module.head.weight, 0.1 * WORLD)
if what == "batch norm":
    module.body.append(nn.BatchNorm1d(32))
if what == "attention":
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True)
    module.body.extend([nn.Unflatten(1, (4, 8)), layer, nn.Flatten()])
by_hand = what in ("by hand", "added", "local steps")
model = module if by_hand else DistributedDataParallel(module)
rate = 0.1 * WORLD if what == "linear rate" else 0.1
optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
passes = 2 if what == "accumulates" else 1
for number, (inputs, labels) in enumerate(loader, 1):
    if what == "noise":
        inputs = inputs + torch.randn_like(inputs)
    inputs = inputs[:, :WIDTH]
    if what == "fixed view":
        inputs = inputs.view(BATCH, WIDTH)
    called = module if what == "past DDP" else model
    waits = number % passes and not by_hand
    with model.no_sync() if waits else contextlib.nullcontext():
        scores = called(inputs)  # call
        if what == "sum":
            loss = cross_entropy(scores, labels, reduction="sum") / BATCH
        elif what == "sum over all":
            count = (labels != -100).sum()
            dist.all_reduce(count)
            loss = cross_entropy(scores, labels, reduction="sum") * WORLD / count
        else:
            loss = cross_entropy(scores, labels) / passes
        if what == "divided twice":
            loss = loss / WORLD
        loss.backward()  # backward
    if number % passes:
        continue
    if what in ("by hand", "added"):
        for parameter in module.parameters():
            dist.all_reduce(parameter.grad)
            if what == "by hand":
                parameter.grad /= WORLD
    optimizer.step()  # step
    optimizer.zero_grad()
dist.destroy_process_group()
