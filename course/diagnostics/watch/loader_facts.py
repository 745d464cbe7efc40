"""Find the sampler and the length of a DataLoader of the script."""

from collections.abc import Sized
from contextlib import suppress
from typing import Any

from torch.utils.data import DataLoader


def sampler_of(loader: DataLoader[Any]) -> object:
    """The sampler of a loader, or of its batch sampler; None if the batch sampler has none."""
    outer = loader.batch_sampler
    inner = getattr(outer, "batch_sampler", outer)  # accelerate's BatchSamplerShard wraps one
    return loader.sampler if outer is None else getattr(inner, "sampler", None)


def length(sized: object) -> int:
    """The length of a data set or a loader; 0 if it has none."""
    with suppress(Exception):  # raised by the script's own code, or by a stream without a length
        return len(sized) if isinstance(sized, Sized) else 0
    return 0
