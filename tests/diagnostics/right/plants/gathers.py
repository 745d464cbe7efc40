"""An evaluation that gathers all results: ``gathers.py MAKE FAULT``, on any number of ranks."""

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
module = net()
optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
training = Samples(BATCH * WORLD * 12)
held_back = Samples(BATCH * WORLD * 3 + (fault != "fits"))
if make == "with_accelerate":
    from accelerate import Accelerator

    accelerator = Accelerator()
    loader, evaluated = DataLoader(training, BATCH, shuffle=True), DataLoader(held_back, BATCH)
    model, optimizer, loader, evaluated = accelerator.prepare(module, optimizer, loader, evaluated)
    gather = accelerator.gather
else:
    dist.init_process_group("gloo")
    model = DistributedDataParallel(module) if make == "with_ddp" else module
    loader = DataLoader(training, BATCH, sampler=DistributedSampler(training))
    evaluated = DataLoader(held_back, BATCH, sampler=DistributedSampler(held_back, shuffle=False))

    def gather(mine: Tensor) -> Tensor:
        """Gather the results of all ranks, in the order of the samples."""
        of_all = [torch.empty_like(mine) for _ in range(WORLD)]
        dist.all_gather(of_all, mine)
        return torch.stack(of_all, 1).flatten()


class Accuracy:
    """Counts right answers."""

    def __init__(self) -> None:
        self.right = self.all = 0

    def add(self, hits: Tensor) -> None:
        """Count these."""
        self.right += int(hits.sum())
        self.all += len(hits)


@torch.no_grad()
def counted() -> float:
    """Wrong: repeated samples are counted."""
    right = total = 0
    for inputs, labels in evaluated:  # counted
        hits = gather(model(inputs).argmax(1) == labels)
        right += int(hits.sum())
        total += len(hits)
    return right / total


@torch.no_grad()
def in_an_object() -> float:
    """Wrong in the same way, in an object that counts."""
    accuracy = Accuracy()
    for inputs, labels in evaluated:  # in an object
        accuracy.add(gather(model(inputs).argmax(1) == labels))
    return accuracy.right / accuracy.all


@torch.no_grad()
def for_metrics() -> float:
    """Right: accelerate drops the repeated samples."""
    right = total = seen = 0
    for inputs, labels in evaluated:
        hits = accelerator.gather_for_metrics(model(inputs).argmax(1) == labels)
        right += int(hits.sum())
        total += len(hits)
        seen += len(labels) * WORLD
    return right / total


@torch.no_grad()
def cut_in_the_loop() -> float:
    """Right: the last batch is cut, as accelerate's older examples do."""
    right = seen = 0
    for inputs, labels in evaluated:
        hits = gather(model(inputs).argmax(1) == labels)
        right += int(hits[: len(held_back) - seen].sum())
        seen += len(hits)
    return right / len(held_back)


@torch.no_grad()
def answers() -> Tensor:
    """Gather all answers, with repeated samples, which the caller cuts off."""
    parts, seen = [], 0
    for inputs, labels in evaluated:
        parts.append(gather(model(inputs).argmax(1) == labels))
        seen += len(parts[-1])
    return torch.cat(parts)


def cut_later() -> float:
    """Right: the repeated samples are cut off after the loop."""
    return float(answers()[: len(held_back)].float().mean())


@torch.no_grad()
def masked() -> float:
    """Right: repeated samples have no weight."""
    right = total = seen = 0
    for inputs, labels in evaluated:
        hits = gather(model(inputs).argmax(1) == labels)
        weight = torch.arange(seen, seen + len(hits)) < len(held_back)
        right += int((hits * weight).sum())
        total += int(weight.sum())
        seen += len(hits)
    return right / total


evaluate = counted if fault == "fits" else globals()[fault]
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
    model.eval()
    accuracy = evaluate()
    model.train()
    if RANK == 0:
        print(accuracy)
dist.destroy_process_group()
