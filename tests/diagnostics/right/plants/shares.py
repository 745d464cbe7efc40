"""Training on data that the script deals out itself: ``shares.py MAKE FAULT``, on any ranks."""

import os
import random
import sys
from collections.abc import Iterator

os.environ["ACCELERATE_USE_CPU"] = "1"

import torch
import torch.distributed as dist
from planted import BATCH, RANK, WORLD, Samples, net
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, Sampler, get_worker_info

make, fault = sys.argv[1:3]
data = Samples(BATCH * (3 * WORLD + 1) if fault == "padded" else BATCH * WORLD * 16)
epoch = 0


class Own(Sampler):
    """The script's own sampler."""

    def __len__(self) -> int:
        return len(data) // (1 if make == "with_accelerate" else WORLD)

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(data)))
        if fault == "own order":
            random.Random().shuffle(order)  # seeded by the clock, on each rank
        elif fault == "with replacement":
            order = random.Random(RANK).choices(order, k=len(order))
        else:
            random.Random(epoch).shuffle(order)
        if fault == "repeated":  # each three times in a row, dealt out, as DeiT does
            order = [index for index in order for _ in range(3)][: len(order)]
        if make == "with_accelerate":  # which deals it out
            yield from order
        else:
            yield from order[RANK::WORLD]


class Stream(IterableDataset):
    """The samples nearly in order: a small shuffle buffer changes it a little."""

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        worker = get_worker_info()
        own, all_ = (worker.id, worker.num_workers) if worker else (0, 1)
        if fault in ("one stream", "one stream and workers"):
            indices = range(own, len(data), all_)  # not the rank's
        elif fault == "all permuted":  # endless: each rank draws from all, once each
            indices = random.Random(RANK).sample(range(len(data)), len(data))
        elif fault == "shards again":  # drawn with replacement, as WebDataset does
            draw = random.Random(RANK)
            indices = [16 * draw.randrange(WORLD * 8) + at for _ in range(16) for at in range(16)]
        elif fault in ("takes its part", "skips others'"):
            indices = range(len(data))
        else:
            indices = range(RANK * all_ + own, len(data), WORLD * all_)
        held: list[int] = []
        draw = random.Random(0 if fault in ("takes its part", "skips others'") else RANK)
        for index in indices:
            held.append(index)
            if len(held) > 12:
                yield data[held.pop(draw.randrange(len(held)))]
        for index in held:
            yield data[index]


def batches() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield the batches of this rank."""
    for number, (inputs, labels) in enumerate(loader):  # epochs
        if fault == "skips others'" and number % WORLD != RANK:
            continue
        if fault == "takes its part":
            yield inputs[RANK::WORLD], labels[RANK::WORLD]
        else:
            yield inputs, labels


if fault in ("own order", "with replacement", "repeated", "none"):
    loader = DataLoader(data, BATCH, sampler=Own())  # loader
elif fault == "padded":  # by accelerate: the last batches are those of its beginning
    loader = DataLoader(data, BATCH, shuffle=True)
else:
    workers = 2 if fault == "one stream and workers" else 0
    size = BATCH * WORLD if fault == "takes its part" else BATCH
    loader = DataLoader(Stream(), size, num_workers=workers)  # loader
module = net()
torch.manual_seed(RANK)
optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
if make == "with_accelerate":
    from accelerate import Accelerator

    accelerator = Accelerator()
    if fault == "one stream":  # which the script does not leave to accelerate
        model, optimizer = accelerator.prepare(module, optimizer)
    else:
        model, optimizer, loader = accelerator.prepare(module, optimizer, loader)
else:
    dist.init_process_group("gloo")
    model = DistributedDataParallel(module) if make == "with_ddp" else module
for epoch in range(6 if fault == "padded" else 2):  # noqa: B007 (the sampler reads it)
    for inputs, labels in batches():
        if fault == "repeated":
            inputs = inputs + 0.1 * torch.randn_like(inputs)  # augmented, on each rank by itself
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
dist.destroy_process_group()
