"""What the checks of both exercises in which learners write DDP do on each rank."""

import importlib
import math
from collections.abc import Callable
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course.checks.tools.leaks import count_leaks
from course.checks.tools.recorder import Call, ddp_forbidden, recorded
from course.checks.tools.reference import (
    Small,
    batch,
    furthest,
    loss_of,
    train_replica,
    weights,
)
from course.given import replica as given


def by_class(
    module: str,
    names: tuple[str, ...],
    function: Callable[..., object],
    *args: object,
    **kwargs: object,
) -> dict[str, object]:
    """By name: what a function, such as those below, finds about each of the learner's classes."""
    script = importlib.import_module(module)
    return {name: function(getattr(script, name), *args, **kwargs) for name in names}


def to_start(rank: int) -> nn.Module:
    """The model of a rank before construction: other weights on every rank, not all float32."""
    model = Small(seed=10 + rank)
    model.precise = nn.Parameter(torch.tensor([1 / 3 + rank], dtype=torch.float64))
    model.register_buffer("seen", torch.tensor(2**53 + 1 + rank))
    model.register_buffer("cache", torch.tensor(0.5 + rank), persistent=False)  # in no state dict
    return model


def start(wrapper: Callable) -> list[torch.Tensor]:
    """The weights on this rank after construction, from different weights on every rank."""
    return weights(wrapper(to_start(dist.get_rank())))


def averages(wrapper: Callable, dtype: torch.dtype = torch.float32, factor: float = 1.0) -> float:
    """How far this rank's gradients are from the averages that torch's own collectives compute.

    It is relative to the largest of them; `factor` multiplies the loss. Where only one of the two
    is a finite number, they are infinitely far apart.
    """
    if not math.isfinite(factor) and dist.get_rank():
        factor = 1.0  # one rank has it, all must see it
    data = [tensor.to(dtype) for tensor in batch(0, dist.get_rank())]
    replica = wrapper(Small(seed=0).to(dtype))
    (factor * loss_of(replica, data)).backward()
    expected = [parameter.grad.clone() for parameter in replica.parameters()]
    for gradient in expected:
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()
    replica = wrapper(Small(seed=0).to(dtype))
    (factor * loss_of(replica, data)).backward()
    replica.finish()
    got = torch.cat([parameter.grad.flatten() for parameter in replica.parameters()])
    reference = torch.cat([gradient.flatten() for gradient in expected])
    finite = reference.isfinite()
    if not torch.equal(got.isfinite(), finite):
        return math.inf
    off = (
        (got - reference)[finite].abs().max() / reference[finite].abs().max() if finite.any() else 0
    )
    return float(off)


def left_behind(wrapper: Callable) -> tuple[int, int]:
    """How many tensors and process groups ten steps leave, after two that may leave some."""
    replica = wrapper(Small(seed=0))
    update = torch.optim.SGD(replica.parameters(), lr=0.1)

    def train(step: int) -> None:
        update.zero_grad()
        loss_of(replica, batch(step, dist.get_rank())).backward()
        replica.finish()
        update.step()

    return count_leaks(train)


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


def messages(wrapper: Callable, quiet: bool = False, kind: str = "plain") -> list[Call]:
    """What one backward and `finish()` send, within `no_sync` if `quiet`."""
    replica = wrapper(Small(seed=0, kind=kind))
    with recorded() as calls:
        if quiet:
            with replica.no_sync():
                loss_of(replica, batch(0, dist.get_rank())).backward()
                replica.finish()
        else:
            loss_of(replica, batch(0, dist.get_rank())).backward()
            replica.finish()
    return calls


def unpacked(wrapper: Callable) -> int:
    """How often one backward and `finish()` call `unpack`."""
    model = wrapper(Small(seed=0))
    with mock.patch.object(given, "unpack", wraps=given.unpack) as unpack:
        loss_of(model, batch(0, dist.get_rank())).backward()
        model.finish()
    return unpack.call_count


def without_library(wrapper: Callable) -> float:
    """As `averages`, while torch's DDP raises errors."""
    with ddp_forbidden():
        return averages(wrapper)
