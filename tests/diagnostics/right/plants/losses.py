"""Losses of several parts: ``losses.py MAKE FAULT``, on any ranks."""

import os
import sys

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
import torch.distributed as dist
from planted import BATCH, RANK, WORLD, Samples, net
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

make, fault = sys.argv[1:3]
passes = 3 if fault.startswith("smooth") else 1
module = net()
optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
data = Samples(BATCH * WORLD * 24 * passes)
if make == "with_accelerate":
    from accelerate import Accelerator

    accelerator = Accelerator()
    loader = DataLoader(data, BATCH, shuffle=True)
    model, optimizer, loader = accelerator.prepare(module, optimizer, loader)
else:
    dist.init_process_group("gloo")
    model = DistributedDataParallel(module) if make == "with_ddp" else module
    loader = DataLoader(data, BATCH, sampler=DistributedSampler(data))
draw = torch.Generator().manual_seed(RANK)


def objective(scores: Tensor, labels: Tensor) -> Tensor:
    """The loss of a detector: whether there is an object, and where."""
    if fault.startswith("smooth"):
        loss = cross_entropy(scores, labels, label_smoothing=0.1)
        return loss / passes if fault == "smooth, divided" else loss
    most = 3 if RANK == 0 else BATCH  # images with few objects, or with many
    picked = torch.arange(BATCH) < torch.randint(max(1, most - 2), most, (1,), generator=draw)
    number = picked.sum()
    if fault == "all positives":
        number = number.float()
        dist.all_reduce(number)
        number = number / WORLD
    classes = cross_entropy(scores, labels, reduction="none") * picked
    places = (scores - labels[:, None]).abs() * picked[:, None]
    if fault == "each image":  # each image is divided by its own number, as in torchvision
        number = torch.randint(1, 9, (BATCH,), generator=draw)
        parts = [image.sum() / count for image, count in zip(places, number, strict=True)]
        return classes.mean() + sum(parts) / len(parts)
    if fault == "one part":
        return cross_entropy(scores, labels) + places.sum() / number
    return classes.sum() / number + places.sum() / number


for number, (inputs, labels) in enumerate(loader, 1):
    loss = objective(model(inputs), labels)  # call
    if make == "with_accelerate":
        accelerator.backward(loss)
    else:
        loss.backward()  # backward
    if number % passes:
        continue
    if make == "by_hand":
        for parameter in module.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= WORLD
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
