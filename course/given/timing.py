"""The fastest times of several pieces of work."""

import time
from collections.abc import Callable

import torch


def fastest(*works: Callable[[], object], times: int = 40) -> list[float]:
    """The fastest of `times` runs of each, in seconds.

    They take turns, so that other programs slow all of them.
    """
    synchronize = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    taken = [[] for _ in works]
    for _ in range(times):
        for work, seconds in zip(works, taken, strict=True):
            synchronize()
            start = time.perf_counter()
            work()
            synchronize()
            seconds.append(time.perf_counter() - start)
    return [min(seconds) for seconds in taken]
