"""On a rank: sample a few values of a tensor, to compare ranks without reading all values."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor, nn

MOST, ALL = 48, 4800  # at most, the values of a tensor, and about those of all in an optimizer


def share(parameters: int) -> int:
    """How many values to sample from each tensor, at most, with this many parameters."""
    return max(4, min(MOST, ALL // max(1, parameters)))


def local(tensor: Tensor) -> Tensor:
    """This rank's part of a DTensor, or the tensor itself if it is not one."""
    if type(tensor) in (Tensor, nn.Parameter):  # the usual case, made fast
        return tensor
    own = getattr(tensor, "to_local", None)
    return own() if own else tensor


def values(tensor: Tensor, count: int) -> Tensor:
    """A view of up to `count` evenly spaced values, to read again later; empty if it is sparse."""
    tensor = local(tensor.detach())
    if tensor.layout is not torch.strided or tensor.is_complex():
        return tensor.new_zeros(0)
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    size, apart = _cut(tensor.numel(), count)
    return tensor.as_strided((size,), (apart,))


def size(tensor: Tensor, count: int) -> int:
    """How many values `values` and `copied` return."""
    tensor = local(tensor)
    if tensor.layout is not torch.strided or tensor.is_complex():
        return 0
    return _cut(tensor.numel(), count)[0]


def copied(tensor: Tensor, count: int) -> Tensor:
    """A copy of the same values, which is quicker than a view if they are read only once."""
    tensor = local(tensor)
    if tensor.layout is not torch.strided or tensor.is_complex():
        return tensor.new_zeros(0)
    return torch.take(tensor, _places(tensor.numel(), count, tensor.device))


def _cut(numbers: int, count: int) -> tuple[int, int]:
    apart = max(1, numbers // count) | 1  # odd, so as not to stay in one column
    return min(count, -(-numbers // apart)), apart


@lru_cache(maxsize=4096)
def _places(numbers: int, count: int, device: torch.device) -> Tensor:
    size, apart = _cut(numbers, count)
    return torch.arange(0, size * apart, apart, device=device)


def together(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate all values in a float32 tensor on their device."""
    return torch.cat(list(tensors)).to(torch.float32) if tensors else torch.zeros(0)


def checksums(flat: np.ndarray, counts: Sequence[int]) -> list[int]:
    """A checksum of each part of `flat`; `counts` are the sizes of the parts, in order."""
    raw = memoryview(flat.tobytes())
    ends = [count * flat.itemsize for count in accumulate(counts)]
    return [zlib.crc32(raw[start:end]) for start, end in pairwise([0, *ends])]
