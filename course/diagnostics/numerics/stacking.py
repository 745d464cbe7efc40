"""On a rank: join the batches of several ranks, in the order of the ranks."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

PLAIN = (str, bytes, int, float)  # a list of these has one item for each sample


class CannotStack(ValueError):
    """Raised for batches that cannot be joined; its text completes a sentence on "the batches"."""


def stack(batches: Sequence[Any]) -> Any:
    """Join batches to a new one with the samples of all.

    Each item of a list or tuple is a field, as in the batches of DataLoader's default collate
    function, unless the items are strings or numbers: then each belongs to one sample. Raises
    `CannotStack` if the batches do not fit. Nothing is padded, because a script's padding is
    unknown.
    """
    first = batches[0]
    if len({type(batch) for batch in batches}) > 1:
        raise CannotStack("are of several types")
    if isinstance(first, Tensor):
        return _tensors(batches)
    if isinstance(first, Mapping):
        if len({tuple(batch) for batch in batches}) > 1:
            raise CannotStack("have different keys")
        joined: Any = copy.copy(first)
        for key in first:
            joined[key] = stack([batch[key] for batch in batches])
        return joined
    if isinstance(first, (list, tuple)):
        return _lists(batches)
    if isinstance(first, (*PLAIN, type(None))):
        if any(batch != first for batch in batches):
            raise CannotStack("have a number or a text of their own on each rank")
        return first
    raise CannotStack(f"have a {type(first).__name__}")


def _tensors(batches: Sequence[Tensor]) -> Tensor:
    first = batches[0]
    if first.ndim == 0:
        if any(not torch.equal(batch, first) for batch in batches):
            raise CannotStack("have a number of their own on each rank")
        return first.clone()
    if first.layout is not torch.strided or first.is_nested:
        raise CannotStack("have sparse or nested tensors")
    shapes = sorted({tuple(batch.shape) for batch in batches})
    if len({(batch.shape[1:], batch.dtype) for batch in batches}) > 1:
        raise CannotStack(
            f"have different shapes, such as {list(shapes[0])} and {list(shapes[-1])}"
        )
    return torch.cat(list(batches))


def _lists(batches: Sequence[Any]) -> Any:
    first = batches[0]
    if first and all(isinstance(item, PLAIN) for batch in batches for item in batch):
        return type(first)(item for batch in batches for item in batch)
    if len({len(batch) for batch in batches}) > 1:
        raise CannotStack("have lists of different lengths")
    fields = [stack(items) for items in zip(*batches, strict=True)]
    return type(first)(*fields) if hasattr(first, "_fields") else type(first)(fields)
