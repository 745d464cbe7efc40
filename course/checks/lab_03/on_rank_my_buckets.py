"""What the checks of my_buckets do on each rank: when it sends, and how it fills its buckets."""

import importlib
from collections.abc import Callable

import torch.distributed as dist

from course.checks.engine.recorder import recorded
from course.checks.engine.reference import Small, batch, loss_of


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


def buckets(cap_mb: float) -> tuple[list[list[int]], list[int], int]:
    """The buckets as positions in `parameters()`, the size of each parameter in bytes.

    Last, the number of parameters that are trained.
    """
    model = Small(seed=0, kind="frozen")
    place = {parameter: i for i, parameter in enumerate(model.parameters())}
    replica = importlib.import_module("my_buckets").Bucketed(model, cap_mb=cap_mb)
    sizes = [parameter.numel() * parameter.element_size() for parameter in model.parameters()]
    buckets = [[place[parameter] for parameter in bucket] for bucket in replica.buckets]
    return buckets, sizes, len(replica.trained)
