"""The numbers that the checks of lab 00 send between ranks."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import torch
from torch import Tensor

from course.checks.tools.recorder import Call, forbidden, recorded
from course.core import dist_names

BIG = 2**60 + 1  # lost in 64-bit floats
SMALL = 2**-30  # beside a number like 9, lost in 32-bit floats


class TensorKind(NamedTuple):
    """A kind of tensor; if it is not `finite`, it has an infinity, and a NaN on rank 0."""

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    finite: bool = True

    def __str__(self) -> str:
        beside = "" if self.finite else ", with inf and nan"
        return f"shape {list(self.shape)}, {self.dtype}{beside}"

    def unset(self) -> Tensor:
        """A tensor with older contents, which must not enter any result."""
        older = torch.nan if self.dtype.is_floating_point else 77
        return torch.full(self.shape, older, dtype=self.dtype)


VECTOR = TensorKind((3,))
KINDS = (
    VECTOR,
    TensorKind((2, 3)),
    TensorKind((0,)),
    TensorKind((3,), finite=False),
    *(TensorKind((3,), dtype) for dtype in (torch.int64, torch.float64, torch.bfloat16)),
)


def numbers(rank: int, place: int = 0, kind: TensorKind = VECTOR) -> Tensor:
    """The numbers that a rank gives for a place; they and their sums are exact in their dtype.

    No two are alike, some are negative, and a wrong result cannot hide among those of another
    rank. No narrower dtype holds those in 64-bit integers and floats.
    """
    index = torch.arange(torch.Size(kind.shape).numel())
    numbers = (index * 7 + 3 * (rank + 1) ** 2 + 5 * place).to(kind.dtype)
    numbers += {torch.int64: BIG, torch.float64: SMALL}.get(kind.dtype, 0)
    numbers[1::2] *= -1
    if not kind.finite:
        numbers[1] = torch.inf
        if rank == 0:
            numbers[2] = torch.nan
    return numbers.reshape(kind.shape)


def same(got: Tensor, expected: Tensor) -> bool:
    """Whether two tensors have the same dtype, shape and numbers; NaN is the same as NaN."""
    return (
        got.dtype == expected.dtype
        and got.shape == expected.shape
        and torch.allclose(got, expected, rtol=0, atol=0, equal_nan=True)
    )


def calls_of(collective: Callable[[TensorKind], object]) -> list[Call]:
    """What one call hands to `torch.distributed`, for numbers of a 16-bit dtype."""
    with recorded() as calls:
        collective(TensorKind((3,), torch.bfloat16))
    return calls


def only(allowed: str) -> AbstractContextManager:
    """Within the block, every other call that moves data between ranks, or waits, raises."""
    others = [name for name in dist_names.MOVES_DATA + dist_names.BARRIERS if name != allowed]
    message = f"it calls dist.{{name}}; only dist.{allowed} may be used"
    return forbidden(others, message)
