"""The bytes that a forward pass keeps for backward."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Kept(dict[int, int]):
    """The bytes of each piece of memory that backward will need, by its address."""

    @property
    def nbytes(self) -> int:
        """The sum of them."""
        return sum(self.values())


@contextmanager
def kept() -> Iterator[Kept]:
    """Count what forward passes inside the block keep for backward, parameters left out."""
    found = Kept()

    def note(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, nn.Parameter):
            storage = tensor.untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        yield found
