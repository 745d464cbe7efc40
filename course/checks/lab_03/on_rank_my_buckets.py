"""What the checks of my_buckets do on each rank: when it sends, and how it fills its buckets."""

import importlib
from collections.abc import Callable
from unittest.mock import patch

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.engine.recorder import recorded
from course.checks.engine.reference import Small, batch, furthest, loss_of


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


class Late:
    """The handle of an all-reduce whose sum comes into the tensor only when it is waited for."""

    def __init__(self, work: dist.Work, total: Tensor, tensor: Tensor) -> None:
        self._work, self._total, self._tensor, self.waits = work, total, tensor, 0

    def wait(self, *given: object) -> object:
        """As that of `dist.Work`."""
        self.waits += 1
        return self._come(self._work.wait(*given))

    def is_completed(self) -> bool:
        """As that of `dist.Work`."""
        return self._work.is_completed() and self._come(True)

    def get_future(self) -> torch.futures.Future:
        """As that of `dist.Work`."""
        return self._work.get_future().then(lambda _: self._come([self._tensor]))

    def _come(self, result: object) -> object:
        self._tensor.copy_(self._total)
        return result


def waited(wrapper: Callable) -> tuple[int, float]:
    """How many messages backward waits for, and how far a gradient is off if the sums come late."""
    options = {"cap_mb": 1e-4} if wrapper.__name__ == "Bucketed" else {}
    real, handles = dist.all_reduce, []

    def late(
        tensor: Tensor, op: object = dist.ReduceOp.SUM, group: object = None, async_op: bool = False
    ) -> object:
        if not async_op:
            return real(tensor, op, group)
        total = tensor.clone()
        handles.append(Late(real(total, op, group, async_op=True), total, tensor))
        return handles[-1]

    data, model = batch(0, dist.get_rank()), Small(seed=0)
    loss_of(model, data).backward()
    wanted = [parameter.grad for parameter in model.parameters()]
    for gradient in wanted:
        dist.all_reduce(gradient)
        gradient /= dist.get_world_size()
    replica = wrapper(Small(seed=0), **options)
    with patch.object(dist, "all_reduce", late):
        loss_of(replica, data).backward()
        waits = sum(handle.waits for handle in handles)
        replica.finish()
    return waits, furthest([parameter.grad for parameter in replica.parameters()], wanted)


def buckets(cap_mb: float) -> tuple[list[list[int]], list[int], int]:
    """The buckets as positions in `parameters()`, the size of each parameter in bytes.

    Last, the number of parameters that are trained.
    """
    model = Small(seed=0, kind="frozen")
    model.heads.double()
    place = {parameter: i for i, parameter in enumerate(model.parameters())}
    replica = importlib.import_module("my_buckets").Bucketed(model, cap_mb=cap_mb)
    sizes = [parameter.numel() * parameter.element_size() for parameter in model.parameters()]
    buckets = [[place[parameter] for parameter in bucket] for bucket in replica.buckets]
    return buckets, sizes, len(replica.trained)
