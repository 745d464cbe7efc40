"""What the checks of `mirrored` do: all replicas are in one process."""

import importlib
import time

import torch
from torch import Tensor, nn

from course.checks.lab_07.on_rank_strategy import begin
from course.checks.lab_07.on_rank_training import loader, step
from course.checks.tools.reference import weights

TURNS = 400  # in which a waiting replica leaves the machine to the others


def make(replicas: int) -> object:
    """The learner's strategy, on as many devices."""
    return importlib.import_module("mirrored").Mirrored([torch.device("cpu")] * replicas)


def at_once(replicas: int) -> tuple[int, list[float]]:
    """How many replicas are in their step at the same time, and what `run` returns: each step
    returns the sum of its inputs.
    """
    begun = []

    def meet(model: nn.Module, share: object) -> Tensor:
        begun.append(share)
        for _ in range(TURNS):  # counted, since a busy machine stretches seconds
            if len(begun) == replicas:
                break
            time.sleep(0.01)
        met.append(len(begun))
        step(model, share)
        return share.inputs.sum()

    met: list[int] = []
    strategy = begin(make(replicas))
    (shares,) = strategy.distribute(loader((7,)))
    values = strategy.run(meet, shares)
    return met[0], [float(value) for value in values]


def variables(replicas: int) -> tuple[list[list[Tensor]], list[list[Tensor]]]:
    """After four steps of AdamW: the weights of each mirror, and what each optimizer remembers."""
    strategy = begin(make(replicas), "plain", "AdamW")
    for shares in strategy.distribute(loader((3 * replicas,) * 4)):
        strategy.run(step, shares)
    states = [
        [tensor for state in optimizer.state.values() for tensor in state.values()]
        for optimizer in strategy.optimizers
    ]
    return [weights(mirror) for mirror in strategy.mirrors], states


def sums(cases: list[list[Tensor]]) -> list[tuple[list[Tensor], bool]]:
    """What the learner's `all_reduce` makes of copies of the tensors of each case, and whether
    each has its own memory.
    """
    results = []
    for case in cases:
        tensors = [tensor.clone() for tensor in case]
        importlib.import_module("mirrored").all_reduce(tensors)
        results.append((tensors, len({t.data_ptr() for t in tensors}) == len(tensors)))
    return results
