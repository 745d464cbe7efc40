"""See what travels: the collectives of a rank, under whatever name a script has called them."""

import contextlib

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import distributed_c10d
from torch.utils._python_dispatch import TorchDispatchMode

from course.core import insides

tree_leaves = insides.inside(insides.module("torch.utils._pytree"), "tree_leaves")
Sent = tuple[str, int, tuple[int, ...]]


class Traffic(TorchDispatchMode):
    """The collectives while it is entered, in order, each as (name, elements, ranks).

    The name has no underscores, such as "allreduce"; the elements are those of the largest tensor
    among the arguments, the ranks the members of the group. torch.distributed runs each collective
    as an operation of the dispatcher, and so do its functional forms.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Sent] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__.replace("_", "")
        if "c10d" in function.namespace and name != "barrier" and (ranks := _members(args)):
            tensors = [thing for thing in tree_leaves(args) if isinstance(thing, Tensor)]
            elements = max((tensor.numel() for tensor in tensors), default=0)
            self.calls.append((name, elements, ranks))
        return function(*args, **(kwargs or {}))


def _members(args: tuple) -> tuple[int, ...]:
    """The ranks of the group among the arguments of an operation; none if it has no group."""
    for thing in args:
        group = None
        if isinstance(thing, torch.ScriptObject):
            if "ProcessGroup" in str(insides.inside(thing, "_type")()):
                group = dist.ProcessGroup.unbox(thing)
        elif isinstance(thing, str):
            with contextlib.suppress(ValueError, RuntimeError):  # it is not the name of a group
                group = insides.inside(distributed_c10d, "_resolve_process_group")(thing)
        if group is not None:
            return tuple(dist.get_process_group_ranks(group))
    return ()
