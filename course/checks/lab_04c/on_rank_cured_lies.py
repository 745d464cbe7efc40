"""What the checks of cured_lies do on each rank."""

import importlib
import os
import sys
from pathlib import Path
from time import sleep  # `held` replaces the module's

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from course.checks.lab_04b.on_rank_clinic import held, impatient

LATE_S = 0.1  # the delay of each rank after the next one


def epochs(count: int) -> list[list[int]]:
    """The samples that this rank draws in each of that many epochs."""
    sampler = DistributedSampler(range(12))
    loader = DataLoader(range(12), batch_size=3, sampler=sampler)
    batches = list(importlib.import_module("cured_lies").batches(loader, count))
    drawn = [index for batch in batches for index in batch.tolist()]
    share = len(sampler)
    return [drawn[i : i + share] for i in range(0, len(drawn), share)]


def mean_loss(windows: list[list[list[float]]]) -> list[tuple[float, float, float]]:
    """For each window of losses: the gradient that DDP leaves, the right one, and the loss.

    In it rank r has the losses ``window[r]``, each of them that number times the weight.
    """
    module, results = importlib.import_module("cured_lies"), []
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    for window in windows:
        words = [torch.tensor(of_rank).unsqueeze(1) for of_rank in window]
        model.zero_grad()
        with impatient():
            losses = model(words[dist.get_rank()]).squeeze(1)
            loss = module.mean_loss(losses)
            loss.backward()
        right = torch.cat(words).mean().item()
        results.append((model.module.weight.grad.item(), right, loss.item()))
    return results


def write_lines(folder: str, lines: list[list[str]]) -> tuple[str, int]:
    """The file as this rank finds it when the function has returned.

    Then how often this rank has begun a file of the folder, that is, opened it empty to write it.
    The ranks call the function one after the other, rank 0 last.

    An older, longer one was there. A rank that opens a file of the folder to write it waits until
    the other ranks wait, too, or have gone on.
    """
    path, rank, begun = Path(folder, "files", "results.txt"), dist.get_rank(), []
    if rank == 0:
        path.parent.mkdir()
        path.write_text("from an older run\n" * 40)
    module = importlib.import_module("cured_lies")
    with impatient(), held(Path(folder)) as hold:

        def slow(event: str, arguments: tuple) -> None:
            there = event == "open" and str(arguments[0]).startswith(str(path.parent))
            if there and arguments[2] & (os.O_WRONLY | os.O_RDWR):
                begun.append(bool(arguments[2] & (os.O_TRUNC | os.O_EXCL)))
                hold()

        sys.addaudithook(slow)
        sleep(LATE_S * (len(lines) - rank))
        module.write_lines(path, list(lines[rank]))
        return path.read_text(), sum(begun)
