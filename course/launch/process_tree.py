"""The processes below this one: adopt what they leave behind, notice their end, end them."""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator

import psutil


def adopt_orphans() -> None:
    """Become the parent of every process whose own parent ends, anywhere below (prctl(2), Linux)."""
    if sys.platform == "linux":
        pr_set_child_subreaper = 36
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def end_with_parent() -> None:
    """Have this process killed when its parent ends, even while it is stopped (prctl(2), Linux)."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


def ended_children() -> Iterator[tuple[int, int]]:
    """(process id, exit code) of each child that has ended since the last call; a signal is a negative code."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def kill_below() -> None:
    """Kill every process below this one."""
    for victim in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()  # psutil compares creation times, so a reused process id is never signalled


def send(pid: int, number: signal.Signals) -> None:
    """Signal a child that may have ended meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
