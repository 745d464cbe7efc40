"""How much code leaves behind, counted in tensors."""

import gc
from collections.abc import Callable

import torch

EARLY, STEPS = 2, 12


def left_by(step: Callable[[int], None]) -> int:
    """How many tensors each call ``step(number)`` leaves in memory for good, on this rank.

    A message may hold its tensor a little longer than its call: that does not count as a
    leak, so it takes many calls to tell.
    """
    for number in range(EARLY):
        step(number)
    early = _alive()
    for number in range(EARLY, STEPS):
        step(number)
    return max(0, _alive() - early) // (STEPS - EARLY)


def _alive() -> int:
    """How many tensors Python holds, after a collection of garbage."""
    gc.collect()
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())
