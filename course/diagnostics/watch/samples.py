"""On a rank: compute checksums of the samples of a batch, to compare them with other ranks'."""

import zlib
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

ROWS, BYTES = 64, 512  # how many rows of a batch are used by default, and how many bytes of a row
PLAIN = (int, float, str, bytes)  # a list that begins with one of these contains no tensors


def _weights() -> np.ndarray:
    """Pseudorandom numbers, the same on every rank: splitmix64 of 1, 2, 3 and so on.

    `numpy.random` would be slow to import.
    """
    mixed = np.arange(1, BYTES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)


WEIGHTS = _weights()


def rows(batch: object, limit: int = ROWS) -> list[int]:
    """A checksum for each of the first `limit` samples of a batch, from its largest tensor.

    The list is empty if the batch has no dense tensor, or if the largest is not on the CPU.
    """
    plain = [tensor for tensor in tensors(batch) if tensor.ndim and tensor.layout is torch.strided]
    largest = max(plain, key=lambda tensor: tensor.nbytes, default=None)
    if largest is None or not largest.nbytes or largest.device.type != "cpu":
        return []
    plain = largest.view(torch.int16) if largest.dtype is torch.bfloat16 else largest
    # numpy, with all rows at once: this runs in each step, so it must be cheap.
    flat = plain.detach().numpy()[:limit].reshape(min(limit, largest.shape[0]), -1)
    stride = -(-flat.shape[1] * flat.itemsize // BYTES)  # rounded up
    numbers = np.ascontiguousarray(flat[:, ::stride]).view(f"i{min(flat.itemsize, 4)}")
    return (numbers @ WEIGHTS[: numbers.shape[1]]).tolist()  # an overflow does no harm


def marks(indices: object, limit: int = ROWS) -> list[int]:
    """A checksum for each of the first `limit` indices; `indices` is a list or a single index."""
    items = indices if isinstance(indices, (list, tuple)) else [indices]
    return [
        index if isinstance(index, int) else zlib.crc32(repr(index).encode())
        for index in items[:limit]
    ]


def tensors(batch: object) -> Iterator[Tensor]:
    """The tensors in a batch, or in the arguments of a call."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from tensors(value)
    elif isinstance(batch, (list, tuple)) and not isinstance(next(iter(batch), 0), PLAIN):
        for value in batch:
            yield from tensors(value)
