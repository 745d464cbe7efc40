"""What is known of a DataLoader of the script."""

from collections.abc import Sized
from contextlib import suppress
from typing import Any

from torch.utils.data import DataLoader


def sampler_of(loader: DataLoader[Any]) -> object:
    """Its sampler, or that of its batch sampler; None if that has none."""
    outer = loader.batch_sampler
    inner = getattr(outer, "batch_sampler", outer)  # of accelerate's shard
    return loader.sampler if outer is None else getattr(inner, "sampler", None)


def length(sized: object) -> int:
    """The length of a data set or a loader; 0 if it has none."""
    with suppress(Exception):  # of the script's own code, or since a stream has none
        return len(sized) if isinstance(sized, Sized) else 0
    return 0
