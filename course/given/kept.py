"""The bytes that a forward pass keeps for backward."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


class Kept(dict[int, int]):
    """The bytes of each piece of memory that backward will need, by its address."""

    @property
    def nbytes(self) -> int:
        """The bytes of all pieces together."""
        return sum(self.values())


@contextmanager
def kept(parameters: Iterable[Tensor] = ()) -> Iterator[Kept]:
    """Count what forward passes inside the block keep for backward, without these parameters."""
    found = Kept()
    counted_elsewhere = {parameter.untyped_storage().data_ptr() for parameter in parameters}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in counted_elsewhere:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        yield found
