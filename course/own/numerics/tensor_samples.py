"""On a rank: some values of a tensor, to compare it between ranks without reading all of it."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor, nn

MOST, ALL = 48, 4800  # values of a tensor, and of all tensors of an optimizer


def share(parameters: int) -> int:
    """How many values to look at of each tensor, if there are so many."""
    return max(4, min(MOST, ALL // max(1, parameters)))


def local(tensor: Tensor) -> Tensor:
    """A rank's own part of a tensor, where it is a part of a larger one (DTensor)."""
    if type(tensor) in (Tensor, nn.Parameter):  # mostly, and this is called very often
        return tensor
    own = getattr(tensor, "to_local", None)
    return own() if own else tensor


def values(tensor: Tensor, count: int) -> Tensor:
    """Up to `count` values that lie evenly apart: a view, to be used again and again."""
    tensor = local(tensor.detach())
    if tensor.layout is not torch.strided or tensor.is_complex():
        return tensor.new_zeros(0)
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    size, apart = _cut(tensor.numel(), count)
    return tensor.as_strided((size,), (apart,))


def size(tensor: Tensor, count: int) -> int:
    """How many values `values` and `copied` give."""
    tensor = local(tensor)
    if tensor.layout is not torch.strided or tensor.is_complex():
        return 0
    return _cut(tensor.numel(), count)[0]


def copied(tensor: Tensor, count: int) -> Tensor:
    """A copy of the same values, for a tensor that is looked at once: quicker than a view."""
    tensor = local(tensor)
    if tensor.layout is not torch.strided or tensor.is_complex():
        return tensor.new_zeros(0)
    return torch.take(tensor, _places(tensor.numel(), count, tensor.device))


def _cut(numbers: int, count: int) -> tuple[int, int]:
    apart = max(1, numbers // count) | 1  # odd, or it would meet one column of a matrix
    return min(count, -(-numbers // apart)), apart


@lru_cache(maxsize=4096)
def _places(numbers: int, count: int, device: torch.device) -> Tensor:
    size, apart = _cut(numbers, count)
    return torch.arange(0, size * apart, apart, device=device)


def together(tensors: Sequence[Tensor]) -> Tensor:
    """A copy of all values in one tensor, in 32 bits, on the device where they are."""
    return torch.cat(list(tensors)).to(torch.float32) if tensors else torch.zeros(0)


def checksums(flat: np.ndarray, counts: Sequence[int]) -> list[int]:
    """A checksum for each of the parts that follow one another."""
    raw = memoryview(flat.tobytes())
    ends = [count * flat.itemsize for count in accumulate(counts)]
    return [zlib.crc32(raw[start:end]) for start, end in pairwise([0, *ends])]
