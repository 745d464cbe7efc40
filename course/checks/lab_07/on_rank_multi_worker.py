"""What the checks of `multi_worker` do on each rank, which is one replica."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.lab_07.on_rank_strategy import begin, train
from course.checks.lab_07.on_rank_training import loader, step
from course.checks.tools.leaks import count_process_groups
from course.checks.tools.recorder import Call, ddp_forbidden, recorded
from course.given.strategy import split


def learners() -> object:
    """The learner's strategy."""
    return importlib.import_module("multi_worker").MultiWorkerMirrored(torch.device("cpu"))


def make() -> object:
    """The learner's strategy with the lab's own shares: neighbouring samples, rank by rank.

    So what is trained does not depend on which samples the learner gives to whom.
    """
    strategy = learners()
    rank, workers = dist.get_rank(), dist.get_world_size()
    strategy.distribute = lambda batches: ([split(batch, workers)[rank]] for batch in batches)
    return strategy


def dealt(sizes: tuple[int, ...]) -> list[tuple[Tensor, int]]:
    """For each batch this worker's samples, a row of inputs and target each, and the whole size."""
    shares = [share for (share,) in begin(learners()).distribute(loader(sizes))]
    return [(torch.cat([share.inputs, share.targets], 1), share.whole) for share in shares]


def devices() -> set[str]:
    """The types of the devices on which this worker's share lies, if the worker's is "meta"."""
    strategy = begin(learners())
    strategy.devices = [torch.device("meta")]
    strategy.model.to("meta")
    ((share,),) = strategy.distribute(loader((6,)))
    return {share.inputs.device.type, share.targets.device.type}


def messages() -> tuple[list[Call], int, int]:
    """What the second of two steps sends, how many gradients and buffers there are, and how many
    process groups that step makes.
    """
    strategy = begin(make(), "normed")
    tensors = (*strategy.model.parameters(), *strategy.model.buffers())
    first, second = strategy.distribute(loader((6, 6)))
    strategy.run(step, first)
    before = count_process_groups()
    with recorded() as calls:
        strategy.run(step, second)
    return calls, sum(tensor.numel() for tensor in tensors), count_process_groups() - before


def without_library() -> list[Tensor]:
    """The weights after a step while torch's DDP raises errors."""
    with ddp_forbidden():
        return train(make, [("plain", "SGD", (6,))])[0][0]
