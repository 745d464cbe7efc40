"""What the checks of `central_storage` do: all replicas are in one process."""

import importlib

import torch
from torch import Tensor, nn

from course.checks.lab_07.on_rank_strategy import begin
from course.checks.lab_07.on_rank_training import loader, step, update_of
from course.checks.tools.reference import Small, weights


def make(replicas: int) -> object:
    """The learner's strategy, on as many devices."""
    devices = [torch.device("cpu")] * replicas
    return importlib.import_module("central_storage").CentralStorage(devices)


def kept(replicas: int) -> tuple[bool, bool]:
    """Whether the variables made in the scope are trained, and whether replicas hold copies."""
    strategy = make(replicas)
    with strategy.scope() as made:
        made.model = Small(seed=0)
        made.optimizer = update_of(made.model, "SGD")
    before = weights(made.model)
    for shares in strategy.distribute(loader((6,))):
        strategy.run(step, shares)
    moved = any(not torch.equal(a, b) for a, b in zip(before, weights(made.model), strict=True))
    places = {
        tensor.data_ptr()
        for model in (made.model, *strategy.replicas)
        for tensor in model.parameters()
    }
    return moved, len(places) == (1 + replicas) * len(list(made.model.parameters()))


def changed_at_the_centre(replicas: int) -> list[float]:
    """What each replica sees of a weight and two buffers once all are set to 2 at the centre."""
    strategy = begin(make(replicas), "counted")
    seen = []

    def look(model: nn.Module, share: object) -> Tensor:
        if len(share.inputs) == 4:  # the second batch
            weight = model.layers[0].weight[0, 0]
            seen.extend([float(number) for number in (weight, model.scale, model.seen)])
        return step(model, share)

    first, second = strategy.distribute(loader((2 * replicas, 4 * replicas)))
    strategy.run(look, first)
    with torch.no_grad():
        strategy.model.layers[0].weight[0, 0] = 2
        strategy.model.scale.fill_(2)
        strategy.model.seen.fill_(2)
    strategy.run(look, second)
    return seen
