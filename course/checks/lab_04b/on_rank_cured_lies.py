"""What the checks of cured_lies do on each rank."""

import importlib
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from course.checks.lab_04b.on_rank_clinic import impatient

WRITES = os.O_WRONLY | os.O_RDWR  # flags of a file that is opened to be written


def epochs() -> list[list[int]]:
    """The samples that this rank draws in each of three epochs."""
    sampler = DistributedSampler(range(12))
    loader = DataLoader(range(12), batch_size=3, sampler=sampler)
    batches = list(importlib.import_module("cured_lies").batches(loader, 3))
    drawn = [index for batch in batches for index in batch.tolist()]
    share = len(sampler)
    return [drawn[i : i + share] for i in range(0, len(drawn), share)]


def mean_loss(counts: list[int]) -> tuple[float, float]:
    """The gradient that DDP leaves, and the right one, where rank r has ``counts[r]`` losses."""
    words = [
        torch.arange(1.0, 1.0 + count).unsqueeze(1) * (1 + rank)
        for rank, count in enumerate(counts)
    ]
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    with impatient():
        losses = model(words[dist.get_rank()]).squeeze(1)
        importlib.import_module("cured_lies").mean_loss(losses).backward()
    return model.module.weight.grad.item(), torch.cat(words).mean().item()


def write_lines(folder: str) -> str:
    """The file as this rank finds it when the function has returned.

    An older, longer one was there, and writing is slow: before a file of the folder is opened to
    be written, its rank waits.
    """
    path = Path(folder, "results.txt")
    if dist.get_rank() == 0:
        path.write_text("from an older run\n" * 40)

    def slow(event: str, given: tuple) -> None:
        if event == "open" and str(given[0]).startswith(folder) and given[2] & WRITES:
            time.sleep(0.2)

    sys.addaudithook(slow)
    with impatient():
        dist.barrier()
        lines = [f"rank {dist.get_rank()}: {number}" for number in range(2 + dist.get_rank())]
        importlib.import_module("cured_lies").write_lines(path, lines)
        return path.read_text()


def slowest(seconds: list[list[float]]) -> list[tuple[int, float]]:
    """What `slowest` returns for each list of times, one per rank."""
    module = importlib.import_module("cured_lies")
    with impatient():
        return [tuple(module.slowest(times[dist.get_rank()])) for times in seconds]
