"""On a rank: read some values of a tensor, to compare it between ranks without reading all."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor, nn

MOST, ALL = 48, 4800  # values of a tensor, and of all tensors of an optimizer


def share(parameters: int) -> int:
    """How many values of each tensor to look at, if there are that many."""
    return max(4, min(MOST, ALL // max(1, parameters)))


def local(tensor: Tensor) -> Tensor:
    """This rank's own part of a tensor that is split (DTensor), or the tensor itself."""
    if type(tensor) in (Tensor, nn.Parameter):  # mostly, and this is called very often
        return tensor
    own = getattr(tensor, "to_local", None)
    return own() if own else tensor


def values(tensor: Tensor, count: int) -> Tensor:
    """A view of up to `count` values that lie evenly apart, which can be kept."""
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
    """A copy of the same values: quicker than a view, if a tensor is looked at once."""
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
    """Copy all values into one tensor, in 32 bits, on the device where they are."""
    return torch.cat(list(tensors)).to(torch.float32) if tensors else torch.zeros(0)


def checksums(flat: np.ndarray, counts: Sequence[int]) -> list[int]:
    """A checksum for each of the parts, which follow one another."""
    raw = memoryview(flat.tobytes())
    ends = [count * flat.itemsize for count in accumulate(counts)]
    return [zlib.crc32(raw[start:end]) for start, end in pairwise([0, *ends])]
