"""What the checks of `mirrored` do: all replicas are in one process."""

import importlib
import threading

import torch
from torch import Tensor, nn

from course.checks.lab_07.on_rank_strategy import begin
from course.checks.lab_07.on_rank_training import loader, step

PATIENCE_S = 10.0  # for what has to happen soon, also on a busy machine


def make(replicas: int) -> object:
    """The learner's strategy, on as many devices."""
    return importlib.import_module("mirrored").Mirrored([torch.device("cpu")] * replicas)


def at_once(replicas: int) -> bool:
    """Whether all replicas are in their step at the same time."""
    meeting = threading.Barrier(replicas)

    def meet(model: nn.Module, share: object) -> Tensor:
        meeting.wait(PATIENCE_S)
        return step(model, share)

    strategy = begin(make(replicas))
    try:
        for shares in strategy.distribute(loader((6,))):
            strategy.run(meet, shares)
    except threading.BrokenBarrierError:
        return False
    return True
