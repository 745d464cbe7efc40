"""Count what calls leave in memory for good: tensors and process groups."""

import gc
import time
from collections.abc import Callable

from torch import Tensor
from torch.distributed import distributed_c10d

from course.core import insides

FIRST, CALLS = 2, 10  # the first calls may keep what they make once
LEAST = CALLS // 2  # tensors that count as a leak
PATIENCE_S, PAUSE_S = 5.0, 0.01


def left_by(call: Callable[[int], object]) -> tuple[int, int]:
    """How many tensors and how many process groups `CALLS` calls leave, after the `FIRST` ones.

    `call` gets its number.
    """
    for number in range(FIRST):
        call(number)
    time.sleep(PAUSE_S)
    tensors, groups = _tensors(), process_groups()
    for number in range(FIRST, FIRST + CALLS):
        call(number)
    more = settled(lambda: _tensors() - tensors, most=LEAST - 1)
    return (more if more >= LEAST else 0), process_groups() - groups


def settled(count: Callable[[], int], most: int) -> int:
    """The count as soon as it is at most `most`, or else after some time.

    Gloo's threads free a message's tensors a little later than the call that waited for the message
    returns, so this counts again before it decides.
    """
    end = time.monotonic() + PATIENCE_S
    while (number := count()) > most and time.monotonic() < end:
        time.sleep(PAUSE_S)
    return number


def _tensors() -> int:
    """How many tensors Python holds, after a collection of garbage."""
    gc.collect()
    return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())


def process_groups() -> int:
    """How many process groups this rank is in, that of all ranks among them."""
    return len(insides.inside(insides.inside(distributed_c10d, "_world"), "pg_map"))
