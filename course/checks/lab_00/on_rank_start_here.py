"""What the checks of start_here do on each rank."""

import importlib

import torch
import torch.distributed as dist


def mean() -> float:
    """What the learner's function makes of 2, 4, 6, ... on this rank."""
    number = torch.tensor([2.0 * (dist.get_rank() + 1)])
    importlib.import_module("start_here").mean_of_ranks(number)
    return number.item()
