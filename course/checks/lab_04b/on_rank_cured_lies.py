"""What the checks of cured_lies do on each rank."""

import importlib
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from course.checks.lab_04b.on_rank_clinic import held, impatient


def epochs(count: int) -> list[list[int]]:
    """The samples that this rank draws in each of so many epochs."""
    sampler = DistributedSampler(range(12))
    loader = DataLoader(range(12), batch_size=3, sampler=sampler)
    batches = list(importlib.import_module("cured_lies").batches(loader, count))
    drawn = [index for batch in batches for index in batch.tolist()]
    share = len(sampler)
    return [drawn[i : i + share] for i in range(0, len(drawn), share)]


def mean_loss(windows: list[list[list[float]]]) -> list[tuple[float, float]]:
    """The gradient that DDP leaves, and the right one, for each window of losses.

    In it rank r has the losses ``window[r]``, each of them that number times the weight.
    """
    module, found = importlib.import_module("cured_lies"), []
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    for window in windows:
        words = [torch.tensor(of_rank).unsqueeze(1) for of_rank in window]
        model.zero_grad()
        with impatient():
            losses = model(words[dist.get_rank()]).squeeze(1)
            module.mean_loss(losses).backward()
        found.append((model.module.weight.grad.item(), torch.cat(words).mean().item()))
    return found


def write_lines(folder: str, lines: list[list[str]]) -> str:
    """The file as this rank finds it when the function has returned.

    An older, longer one was there. A rank that opens a file of the folder to write it waits until
    the other ranks wait, too, or have gone on.
    """
    path, rank = Path(folder, "files", "results.txt"), dist.get_rank()
    if rank == 0:
        path.parent.mkdir()
        path.write_text("from an older run\n" * 40)
    module = importlib.import_module("cured_lies")
    with impatient(), held(Path(folder)) as hold:

        def slow(event: str, given: tuple) -> None:
            there = event == "open" and str(given[0]).startswith(str(path.parent))
            if there and given[2] & (os.O_WRONLY | os.O_RDWR):
                hold()

        sys.addaudithook(slow)
        module.write_lines(path, list(lines[rank]))
        return path.read_text()


def slowest(seconds: list[list[float]]) -> list[tuple[int, float]]:
    """What `slowest` returns for each list of times, one per rank."""
    module, found = importlib.import_module("cured_lies"), []
    for times in seconds:
        with impatient():
            found.append(tuple(module.slowest(times[dist.get_rank()])))
    return found
