"""Count the tensors and process groups that calls leave in memory for good."""

import gc
import time
from collections.abc import Callable

from torch import Tensor
from torch.distributed import distributed_c10d

from course.core import insides

WARM_UP_CALLS, CALLS = 2, 10  # the first calls may create objects that are kept for later calls
LEAST = CALLS // 2  # fewer tensors than this are no leak
PATIENCE_S, PAUSE_S = 5.0, 0.01


def count_leaks(call: Callable[[int], object]) -> tuple[int, int]:
    """Count the tensors and the process groups that `CALLS` calls leave, after `WARM_UP_CALLS`.

    `call` gets its number.
    """
    for number in range(WARM_UP_CALLS):
        call(number)
    time.sleep(PAUSE_S)
    tensors, groups = _tensors(), count_process_groups()
    for number in range(WARM_UP_CALLS, WARM_UP_CALLS + CALLS):
        call(number)
    new_tensors = wait_until_settled(lambda: _tensors() - tensors, most=LEAST - 1)
    return (new_tensors if new_tensors >= LEAST else 0), count_process_groups() - groups


def wait_until_settled(count: Callable[[], int], most: int) -> int:
    """Wait up to `PATIENCE_S` seconds until the count is at most `most`; return the last count.

    Gloo's threads may free a message's tensors a little after the call that waited for the message
    has returned, so this counts repeatedly.
    """
    end = time.monotonic() + PATIENCE_S
    while (number := count()) > most and time.monotonic() < end:
        time.sleep(PAUSE_S)
    return number


def _tensors() -> int:
    """How many tensors Python holds, after a collection of garbage."""
    gc.collect()
    return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())


def count_process_groups() -> int:
    """How many process groups this rank is in, the default group included."""
    return len(insides.inside(insides.inside(distributed_c10d, "_world"), "pg_map"))
