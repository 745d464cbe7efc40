"""Counts what a rank sends, to compare ways to train by their messages and bytes.

`counted` wraps the functions that a script calls, which takes no time. `Traffic` sees every
operation that torch runs, and so each collective under any name; that takes time.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import distributed_c10d
from torch.utils._python_dispatch import TorchDispatchMode

from course.core import dist_names, insides, interceptor

_signature = functools.cache(inspect.signature)  # or each call would read it again
# Flattens nested lists and dictionaries; torch has no public name for it.
tree_leaves = insides.inside(insides.module("torch.utils._pytree"), "tree_leaves")


@dataclass
class Sent:
    """The messages of a rank and their bytes, as the script hands them to torch."""

    messages: int = 0
    nbytes: int = 0


@contextmanager
def counted() -> Iterator[Sent]:
    """Count this rank's all-reduces and all-gathers inside the block, those in `CONTRIBUTIONS`.

    Calls from Python count, and within `all_gather_object` the two that it makes. Other collectives
    do not, nor do those from DDP's own C++: give DDP a communication hook.
    """
    total = Sent()

    def note(name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        arguments = _signature(real).bind(*args, **kwargs).arguments
        tensor: Tensor = arguments[dist_names.CONTRIBUTIONS[name]]
        total.messages += 1
        total.nbytes += tensor.nbytes
        return real(*args, **kwargs)

    with interceptor.intercepted(note, dist_names.CONTRIBUTIONS):
        yield total


@dataclass(frozen=True)
class Collective:
    """One collective as torch ran it."""

    name: str  # without underscores, such as "allreduce"
    elements: int  # of the largest tensor among its arguments
    nbytes: int  # of its largest argument, a list of tensors taken together
    ranks: tuple[int, ...]  # the members of its group


class Traffic(TorchDispatchMode):
    """The collectives of this rank inside the block, in order.

    torch.distributed runs each collective as an operation of the dispatcher, and so do its
    functional forms. So it does not matter how a script calls them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Collective] = []

    @property
    def units(self) -> int:
        """Bytes in units of (N-1)/N, as the ring of lab 02 sends them: all-reduces count twice."""
        return sum(
            message.nbytes * (2 if message.name == "allreduce" else 1) for message in self.messages
        )

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        result = function(*args, **(kwargs or {}))
        if message := collective(function, args):
            self.messages.append(message)
        return result


def collective(function: Any, args: tuple) -> Collective | None:
    """An operation as a collective; None if it is not one, or is a barrier."""
    name = function.overloadpacket.__name__.replace("_", "")
    if "c10d" not in function.namespace or name == "barrier" or not (ranks := _members(args)):
        return None
    arguments = [[t for t in tree_leaves(arg) if isinstance(t, Tensor)] for arg in args]
    elements = max((tensor.numel() for tensors in arguments for tensor in tensors), default=0)
    nbytes = max(sum(tensor.nbytes for tensor in tensors) for tensors in arguments)
    return Collective(name, elements, nbytes, ranks)


def _members(args: tuple) -> tuple[int, ...]:
    """The ranks of the group among an operation's arguments, () if there is no group."""
    for thing in args:
        group = None
        if isinstance(thing, torch.ScriptObject):
            if "ProcessGroup" in str(insides.inside(thing, "_type")()):
                group = dist.ProcessGroup.unbox(thing)
        elif isinstance(thing, str):
            with contextlib.suppress(ValueError, RuntimeError):  # not the name of a group
                group = insides.inside(distributed_c10d, "_resolve_process_group")(thing)
        if group is not None:
            return tuple(dist.get_process_group_ranks(group))
    return ()
