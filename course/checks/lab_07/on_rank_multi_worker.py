"""What the checks of `multi_worker` do on each rank, which is one replica."""

import importlib

import torch
from torch import Tensor

from course.checks.engine.recorder import Call, ddp_forbidden, recorded
from course.checks.lab_07.on_rank_strategy import begin, train
from course.checks.lab_07.on_rank_training import loader, step


def make() -> object:
    """The learner's strategy."""
    return importlib.import_module("multi_worker").MultiWorkerMirrored(torch.device("cpu"))


def dealt(sizes: tuple[int, ...]) -> list[tuple[Tensor, int]]:
    """The inputs of this worker's share of each batch, and the size of the whole."""
    strategy = begin(make())
    return [(share.inputs, share.whole) for (share,) in strategy.distribute(loader(sizes))]


def messages() -> tuple[list[Call], int]:
    """What `run` sends in a step, and how many gradients and buffers there are."""
    strategy = begin(make(), "normed")
    tensors = (*strategy.model.parameters(), *strategy.model.buffers())
    (shares,) = strategy.distribute(loader((6,)))
    with recorded() as calls:
        strategy.run(step, shares)
    return calls, sum(tensor.numel() for tensor in tensors)


def without_library() -> list[Tensor]:
    """The weights after a step with torch's DDP made unusable."""
    with ddp_forbidden():
        return train(make, [("plain", "SGD", (6,))])[0][0]
