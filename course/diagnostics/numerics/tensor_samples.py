"""On a rank: sample a few values of a tensor, to compare ranks without reading all values."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor, nn

MAX_PER_TENSOR = 48  # values that are sampled from a tensor
MAX_IN_ALL = 4800  # values of all tensors of an optimizer, unless there are very many tensors


def share(parameters: int) -> int:
    """How many values to sample from each tensor, at most, with this many parameters."""
    return max(4, min(MAX_PER_TENSOR, MAX_IN_ALL // max(1, parameters)))


def local_part(tensor: Tensor) -> Tensor:
    """This rank's part of a DTensor, or the tensor itself if it is not one."""
    if type(tensor) in (Tensor, nn.Parameter):  # the usual case, made fast
        return tensor
    own = getattr(tensor, "to_local", None)
    return own() if own else tensor


def values(tensor: Tensor, count: int) -> Tensor:
    """A view of up to `count` evenly spaced values, to read again later; empty if it is sparse."""
    tensor = local_part(tensor.detach())
    if tensor.layout is not torch.strided or tensor.is_complex():
        return tensor.new_zeros(0)
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    number, stride = _size_and_stride(tensor.numel(), count)
    return tensor.as_strided((number,), (stride,))


def size(tensor: Tensor, count: int) -> int:
    """How many values `values` and `copy_values` return."""
    tensor = local_part(tensor)
    if tensor.layout is not torch.strided or tensor.is_complex():
        return 0
    return _size_and_stride(tensor.numel(), count)[0]


def copy_values(tensor: Tensor, count: int) -> Tensor:
    """A copy of the same values, which is quicker than a view if they are read only once."""
    tensor = local_part(tensor)
    if tensor.layout is not torch.strided or tensor.is_complex():
        return tensor.new_zeros(0)
    return torch.take(tensor, _indices(tensor.numel(), count, tensor.device))


def _size_and_stride(numbers: int, count: int) -> tuple[int, int]:
    stride = max(1, numbers // count) | 1  # odd, so as not to stay in one column
    return min(count, -(-numbers // stride)), stride


@lru_cache(maxsize=4096)
def _indices(numbers: int, count: int, device: torch.device) -> Tensor:
    size, stride = _size_and_stride(numbers, count)
    return torch.arange(0, size * stride, stride, device=device)


def concatenate(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate all values in a float32 tensor on their device."""
    return torch.cat(list(tensors)).to(torch.float32) if tensors else torch.zeros(0)


def checksums(flat: np.ndarray, counts: Sequence[int]) -> list[int]:
    """A checksum of each part of `flat`; `counts` are the sizes of the parts, in order."""
    raw = memoryview(flat.tobytes())
    ends = [count * flat.itemsize for count in accumulate(counts)]
    return [zlib.crc32(raw[start:end]) for start, end in pairwise([0, *ends])]
