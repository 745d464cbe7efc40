"""The numbers that the checks of lab 00 send between ranks."""

from contextlib import AbstractContextManager

import torch
from torch import Tensor

from course.checks.engine.recorder import MOVES_DATA, forbidden

SHAPES = ((3,), (2, 3), (), (0,))
BIG = 2**40 + 1  # lost in 32-bit floats


def numbers(
    rank: int, place: int = 0, shape: tuple[int, ...] = (3,), dtype: torch.dtype = torch.float32
) -> Tensor:
    """The numbers that a rank gives for a place, exact in every dtype used here.

    No two are alike, and a wrong result cannot hide among those of another rank. In 64-bit
    integers they are too large for 32-bit floats.
    """
    size = torch.Size(shape).numel()
    small = (torch.arange(size) * 7 + 3 * (rank + 1) ** 2 + 5 * place).reshape(shape).to(dtype)
    return small + BIG if dtype == torch.int64 else small


def kinds(low: torch.dtype) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """The shapes and dtypes that are tried; `low` is a dtype of the exercise's own."""
    return [
        *((shape, torch.float32) for shape in SHAPES),
        ((3,), torch.int64),
        ((3,), low),
    ]


def kind_in_words(shape: tuple[int, ...], dtype: torch.dtype) -> str:
    """A kind of tensor for a message."""
    return f"shape {list(shape)}, {dtype}"


def only(allowed: str) -> AbstractContextManager:
    """Within it, every other call that moves data between ranks raises."""
    others = [name for name in MOVES_DATA if name != allowed]
    message = f"it calls dist.{{name}}; only dist.{allowed} may move the data"
    return forbidden(others, message)
