"""Training and evaluation: ``torchrun --nproc-per-node 2 evaluates.py MAKE FAULT FOLDER``."""

import os
import sys

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
import torch.distributed as dist
from planted import BATCH, RANK, WORLD, Samples, net
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

make, fault = sys.argv[1:3]
module = net()
optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
training = Samples(BATCH * WORLD * 12)
held_back = Samples(BATCH * WORLD * 3 + 1)
if make == "with_accelerate":
    from accelerate import Accelerator

    accelerator = Accelerator()
    loader = DataLoader(training, BATCH, shuffle=True)
    evaluated = DataLoader(held_back, BATCH)
    if fault == "none":
        evaluated = accelerator.prepare(evaluated)
    model, optimizer, loader = accelerator.prepare(module, optimizer, loader)
else:
    dist.init_process_group("gloo")
    model = DistributedDataParallel(module) if make == "with_ddp" else module
    loader = DataLoader(training, BATCH, sampler=DistributedSampler(training))
if fault in ("share", "repeats", "each its own", "rank 0") or make != "with_accelerate":
    evaluated = DataLoader(
        held_back, BATCH, sampler=DistributedSampler(held_back, WORLD, RANK, shuffle=False)
    )
if fault == "rank 0 evaluates all":
    evaluated = DataLoader(held_back, BATCH)


def evaluate() -> None:
    """Print how many answers are right."""
    parts = []
    model.eval()
    with torch.no_grad():
        for inputs, labels in evaluated:  # evaluation
            answers = module(inputs).argmax(1)
            if fault == "none" and make == "with_accelerate":
                answers, labels = accelerator.gather_for_metrics((answers, labels))
            parts.append(answers == labels)
    model.train()
    hits = torch.cat(parts)
    if fault == "none" and make != "with_accelerate":
        of_all = [torch.empty_like(hits) for _ in range(WORLD)]
        dist.all_gather(of_all, hits)
        hits = torch.stack(of_all, 1).flatten()[: len(held_back)]  # without repeats
    sums = torch.tensor([int(hits.sum()), len(hits)])
    if fault == "repeats":
        dist.all_reduce(sums)
    if RANK == 0 or fault == "each its own":
        print(*sums.tolist())


for epoch in range(2):
    if make != "with_accelerate":
        loader.sampler.set_epoch(epoch)
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
    if RANK == 0 or not fault.startswith("rank 0"):
        evaluate()
    dist.barrier()
dist.destroy_process_group()
