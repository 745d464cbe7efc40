"""The bytes that a rank holds and sends, counted while a script runs."""

import weakref
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor

from course.given.sent import Traffic, tree_leaves


def held(tensors: Iterable[Tensor]) -> int:
    """The bytes of memory of these tensors on this rank; shared memory counts once."""
    local = [tensor.to_local() if hasattr(tensor, "to_local") else tensor for tensor in tensors]
    storages = {storage.data_ptr(): storage.nbytes() for storage in map(_storage, local)}
    return sum(storages.values())


class Account(Traffic):
    """Counts, for every operation inside it, what collectives send and the memory in use.

    `sent` and `peak` are in bytes. What a rank sends is counted as the ring of lab 02 sends it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._storages = weakref.WeakSet()

    @property
    def sent(self) -> float:
        """The bytes that this rank has sent."""
        return (dist.get_world_size() - 1) / dist.get_world_size() * self.units

    @property
    def alive(self) -> int:
        """The bytes of all memory that an operation has used and that is still referenced."""
        return sum(storage.nbytes() for storage in self._storages)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = super().__torch_dispatch__(function, types, args, kwargs)
        leaves = tree_leaves((args, kwargs, result))
        tensors = [t for t in leaves if type(t) in (Tensor, torch.nn.Parameter)]
        self._storages.update(map(_storage, tensors))
        self.peak = max(self.peak, self.alive)
        return result


def _storage(tensor: Tensor) -> torch.UntypedStorage:
    return tensor.untyped_storage()
