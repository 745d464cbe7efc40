"""Record or forbid the calls that code makes to torch.distributed."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from course.core import dist_names, interceptor

# `batch_isend_irecv` is recorded as the messages that it consists of.
RECORDED = tuple(
    name
    for name in dist_names.MOVES_DATA
    if name != "batch_isend_irecv" and inspect.isfunction(getattr(dist, name, None))
)


@dataclass(frozen=True)
class Call:
    """One call as this rank made it."""

    name: str
    elements: int  # of the largest tensor among its arguments, 0 if there is none
    asynchronous: bool  # whether it was called with `async_op`
    to: int | None  # the destination, if it has one
    ranks: tuple[int, ...]  # the members of its group
    nbytes: int  # of the largest tensor in bytes


@contextmanager
def recorded(*names: str) -> Iterator[list[Call]]:
    """Record the calls of these functions within this context, in order.

    Calls that a recorded function makes itself are not listed. Without `names`, every function of
    torch.distributed that moves data between ranks is recorded.
    """
    calls: list[Call] = []

    def record(name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        calls.append(_described(name, real, args, kwargs))
        return real(*args, **kwargs)

    with interceptor.intercepted(record, names or RECORDED):
        yield calls


@contextmanager
def forbidden(
    names: Iterable[str], message: str, homes: Iterable[object] = interceptor.HOMES
) -> Iterator[None]:
    """Within this context, these functions of torch.distributed raise an `AssertionError`.

    ``{name}`` in the `message` stands for the name of the function.
    """

    def refuse(name: str, real: Callable, args: tuple, kwargs: dict) -> None:
        raise AssertionError(message.format(name=name))

    with interceptor.intercepted(refuse, names, homes):
        yield


@contextmanager
def ddp_forbidden() -> Iterator[None]:
    """Within this context, torch's own DistributedDataParallel raises an `AssertionError`."""
    message = (
        "it hands the work to torch's DistributedDataParallel, which is what it should replace"
    )
    with forbidden(["__init__"], message, homes=(DistributedDataParallel,)):
        yield


def _described(name: str, real: Callable, args: tuple, kwargs: dict) -> Call:
    arguments = inspect.signature(real).bind(*args, **kwargs).arguments
    tensors = [value for value in arguments.values() if isinstance(value, Tensor)]
    elements = max((tensor.numel() for tensor in tensors), default=0)
    nbytes = max((tensor.nbytes for tensor in tensors), default=0)
    to, group = arguments.get("dst"), arguments.get("group")
    if to is None:
        to = arguments.get("group_dst")
    if not isinstance(group, dist.ProcessGroup):
        group = dist.group.WORLD
    ranks = tuple(dist.get_process_group_ranks(group)) if dist.is_initialized() else ()
    return Call(name, elements, bool(arguments.get("async_op")), to, ranks, nbytes)
