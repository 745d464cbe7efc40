"""What the checks of my_buckets do on each rank: when it sends, and how it fills its buckets."""

import importlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn

from course.checks.tools.loose_ends import late
from course.checks.tools.recorder import recorded
from course.checks.tools.reference import Small, batch, furthest, loss_of


def sent_early(wrapper: Callable, steps: int = 1) -> tuple[int, bool]:
    """How many messages had begun when the first layer got its gradient, in the last of the steps.

    Also whether backward waited for none of its messages.
    """
    options = {"cap_mb": 1e-4} if wrapper.__name__ == "Bucketed" else {}
    replica, begun = wrapper(Small(seed=0), **options), []
    replica.module.layers[0].weight.register_hook(lambda gradient: begun.append(len(calls)))
    for step in range(steps):
        with recorded() as calls:
            loss_of(replica, batch(step, dist.get_rank())).backward()
            in_backward = list(calls)
            replica.finish()
    return begun[-1], all(call.asynchronous for call in in_backward)


def waited(wrapper: Callable) -> tuple[int, float]:
    """How many messages backward waits for, and how far a gradient is off if the sums come late."""
    options = {"cap_mb": 1e-4} if wrapper.__name__ == "Bucketed" else {}
    data, model = batch(0, dist.get_rank()), Small(seed=0)
    loss_of(model, data).backward()
    expected = [parameter.grad for parameter in model.parameters()]
    for gradient in expected:
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()
    replica = wrapper(Small(seed=0), **options)
    with late() as begun:
        loss_of(replica, data).backward()
        waits = sum(handle.blocked for handle in begun)
        replica.finish()
    return waits, furthest([parameter.grad for parameter in replica.parameters()], expected)


def in_reverse(wrapper: Callable) -> tuple[int, int, int]:
    """The gradients become ready from the first layer on, and so in the reverse of the order of
    sending: how many messages there are before the last one, and after it; last, how many buckets.
    """
    options = {"cap_mb": 1e-4} if wrapper.__name__ == "Bucketed" else {}
    replica = wrapper(Small(seed=0), **options)
    *early, last = replica.trained
    with recorded() as calls:
        for parameter in early:
            parameter.grad = torch.ones_like(parameter)
            replica.gradient_ready(parameter)
        waiting = len(calls)
        last.grad = torch.ones_like(last)
        replica.gradient_ready(last)
        sent = len(calls)
        replica.finish()
    return waiting, sent, len(replica.buckets)


def buckets(cap_mb: float) -> tuple[list[list[int]], list[int], int]:
    """The buckets as positions in `parameters()`, the size of each parameter in bytes.

    Last, the number of parameters that are trained.
    """
    model = Small(seed=0, kind="frozen")
    model.heads.double()
    if cap_mb > 1:
        model.heads.extend(nn.Linear(2**16, 1) for _ in range(10))  # 256 KiB each
    place = {parameter: i for i, parameter in enumerate(model.parameters())}
    replica = importlib.import_module("my_buckets").Bucketed(model, cap_mb=cap_mb)
    sizes = [parameter.numel() * parameter.element_size() for parameter in model.parameters()]
    buckets = [[place[parameter] for parameter in bucket] for bucket in replica.buckets]
    return buckets, sizes, len(replica.trained)
