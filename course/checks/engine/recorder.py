"""See what code calls: record its calls to torch.distributed (or to a module), or forbid them."""

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

import torch.distributed as dist
from torch import Tensor
from torch.distributed import distributed_c10d
from torch.nn.parallel import DistributedDataParallel

# `send` and `batch_isend_irecv` look up in the second what they are made of.
HOMES = (dist, distributed_c10d)
PREFIXES = ("all_", "_all_", "reduce", "_reduce", "broadcast", "_broadcast", "gather", "scatter")
COLLECTIVES = tuple(
    name for name in vars(dist) if name.startswith(PREFIXES) and name != "reduce_op"
)
MESSAGES = ("send", "recv", "isend", "irecv", "batch_isend_irecv")
MOVES_DATA = COLLECTIVES + MESSAGES
# `batch_isend_irecv` is recorded as the messages that it consists of.
RECORDED = tuple(
    name
    for name in MOVES_DATA
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
    nbytes: int  # of the tensor that has most


@contextmanager
def recorded(*names: str, within: ModuleType | None = None) -> Iterator[list[Call]]:
    """The calls of these functions while it is entered, in order.

    A function that such a call calls in turn is not listed.
    Without names: every function of torch.distributed that moves data between ranks.
    `within` is another module, such as one of the learner's, whose functions are recorded instead.
    """
    calls: list[Call] = []
    thread = threading.local()
    homes = HOMES if within is None else (within,)
    functions = {
        name: _recording(name, getattr(homes[0], name), calls, thread) for name in names or RECORDED
    }
    with _replaced(functions, homes):
        yield calls


def _recording(name: str, real: Callable, calls: list[Call], thread: threading.local) -> Callable:
    @functools.wraps(real)
    def call(*args: object, **kwargs: object) -> object:
        if getattr(thread, "in_a_call", False):
            return real(*args, **kwargs)
        calls.append(_described(name, real, args, kwargs))
        thread.in_a_call = True
        try:
            return real(*args, **kwargs)
        finally:
            thread.in_a_call = False

    return call


@contextmanager
def forbidden(names: Iterable[str], message: str) -> Iterator[None]:
    """While it is entered, these functions of torch.distributed raise an `AssertionError`.

    ``{name}`` in its message stands for the name of the function.
    """
    functions = {name: _refusing(message.format(name=name)) for name in names}
    with _replaced(functions, HOMES):
        yield


@contextmanager
def ddp_forbidden() -> Iterator[None]:
    """While it is entered, torch's own DistributedDataParallel raises an `AssertionError`."""
    message = (
        "it hands the work to torch's DistributedDataParallel, which is what it should replace"
    )
    with _replaced({"__init__": _refusing(message)}, (DistributedDataParallel,)):
        yield


def _refusing(message: str) -> Callable:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError(message)

    return refuse


def _described(name: str, real: Callable, args: tuple, kwargs: dict) -> Call:
    given = inspect.signature(real).bind(*args, **kwargs).arguments
    tensors = [value for value in given.values() if isinstance(value, Tensor)]
    elements = max((tensor.numel() for tensor in tensors), default=0)
    nbytes = max((tensor.nbytes for tensor in tensors), default=0)
    to, group = given.get("dst"), given.get("group")
    if to is None:
        to = given.get("group_dst")
    if not isinstance(group, dist.ProcessGroup):
        group = dist.group.WORLD
    ranks = tuple(dist.get_process_group_ranks(group)) if dist.is_initialized() else ()
    return Call(name, elements, bool(given.get("async_op")), to, ranks, nbytes)


@contextmanager
def _replaced(functions: dict[str, Callable], homes: Iterable[object]) -> Iterator[None]:
    """Put the functions in the place of those of the same names in each home that has them."""
    real = [
        (home, name, getattr(home, name))
        for home in homes
        for name in functions
        if hasattr(home, name)
    ]
    for home, name, _ in real:
        setattr(home, name, functions[name])
    try:
        yield
    finally:
        for home, name, function in real:
            setattr(home, name, function)
