"""What the checks of both exercises with a DDP of one's own do on each rank."""

import importlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course.checks.engine.recorder import Call, ddp_forbidden, recorded
from course.checks.engine.reference import (
    Small,
    batch,
    furthest,
    loss_of,
    train_replica,
    weights,
)


def each(
    module: str,
    names: tuple[str, ...],
    function: Callable[..., object],
    *args: object,
    **kwargs: object,
) -> dict[str, object]:
    """By name: what a function, such as those below, finds about each of the learner's classes."""
    script = importlib.import_module(module)
    return {name: function(getattr(script, name), *args, **kwargs) for name in names}


def start(wrapper: Callable) -> list[torch.Tensor]:
    """The weights on this rank after construction, from different weights on every rank."""
    return weights(wrapper(Small(seed=10 + dist.get_rank())))


def averages(wrapper: Callable) -> float:
    """How far this rank's gradients are from the averages that torch's own collectives compute."""
    replica = wrapper(Small(seed=0))
    loss_of(replica, batch(0, dist.get_rank())).backward()
    expected = [parameter.grad.clone() for parameter in replica.parameters()]
    for gradient in expected:
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()
    replica = wrapper(Small(seed=0))
    loss_of(replica, batch(0, dist.get_rank())).backward()
    replica.finish()
    return furthest([parameter.grad for parameter in replica.parameters()], expected)


def train(
    wrapper: Callable, kinds: tuple[str, ...], optimizers: tuple[str, ...], passes: int = 1
) -> dict:
    """The weights on this rank after three steps, for each kind of model and optimizer."""
    return {
        (kind, optimizer): train_replica(wrapper, kind, optimizer, steps=3, passes=passes)
        for kind in kinds
        for optimizer in optimizers
    }


def heads(step: int) -> tuple[int, ...]:
    """The heads that this rank uses in a step.

    In step 0, rank 1 leaves one out; in step 1, all ranks do; in step 2, each rank uses both in
    an order of its own.
    """
    if step == 0:
        return (0,) if dist.get_rank() == 1 else (0, 1)
    if step == 1:
        return (0,)
    return (0, 1) if dist.get_rank() == 0 else (1, 0)


def unused(wrapper: Callable) -> tuple[float, bool]:
    """How far the weights are from torch's DDP with unused heads.

    Also whether a head that no rank used kept no gradient.
    """
    mine = wrapper(Small(seed=0))
    theirs = DistributedDataParallel(Small(seed=0), find_unused_parameters=True)
    untouched = True
    updates = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (mine, theirs)]
    for step in range(3):
        for model, update in zip((mine, theirs), updates, strict=True):
            update.zero_grad()
            loss_of(model, batch(step, dist.get_rank()), heads=heads(step)).backward()
            if model is mine:
                mine.finish()
                untouched &= step != 1 or mine.module.heads[1].weight.grad is None
            update.step()
    return furthest(weights(mine), weights(theirs)), untouched


def uneven(wrapper: Callable) -> float:
    """How far the weights are from torch's DDP when the ranks' batches differ in size."""
    models = wrapper(Small(seed=0)), DistributedDataParallel(Small(seed=0))
    for model in models:
        update = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            update.zero_grad()
            loss_of(model, batch(step, dist.get_rank(), size=2 + 3 * dist.get_rank())).backward()
            if model is models[0]:
                model.finish()
            update.step()
    return furthest(weights(models[0]), weights(models[1]))


def messages(wrapper: Callable, quiet: bool = False, **options: float) -> list[Call]:
    """What one backward and `finish()` send, within `no_sync` if `quiet`."""
    replica = wrapper(Small(seed=0), **options)
    with recorded() as calls:
        if quiet:
            with replica.no_sync():
                loss_of(replica, batch(0, dist.get_rank())).backward()
                replica.finish()
        else:
            loss_of(replica, batch(0, dist.get_rank())).backward()
            replica.finish()
    return calls


def without_library(wrapper: Callable) -> float:
    """As `averages`, with torch's DDP made unusable."""
    with ddp_forbidden():
        return averages(wrapper)
