"""Waits of tests: each waits for an event, however busy the machine is.

No test asserts how soon something happens: cores may be shared, and a machine may stall for a
minute. A wait ends with its event. If the event never comes, the test fails after `PATIENCE_S`.
"""

import contextlib
import time
from collections.abc import Callable

import psutil

PATIENCE_S = 300.0  # below the limit of a whole test, in conftest.py


def until(condition: Callable[[], object], every: float = 0.02) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"after {PATIENCE_S:.0f} s still not so: {condition}"
        time.sleep(every)


def runs(pid: int) -> bool:
    """Whether the process exists and has not ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False
