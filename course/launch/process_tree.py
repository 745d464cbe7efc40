"""In every process: adopt, watch, measure and kill the processes below it.

A process is identified by its id and the time of its creation. So an id that the system has since
given to another process is never signalled (psutil compares both before it sends a signal).
"""

import contextlib
import ctypes
import glob
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

KILL_S = 2.0  # for killed processes to be gone
MAX_EXTENSION = 5  # a patient limit is extended by at most this many times its length


def adopt_orphans() -> None:
    """Become the parent of any descendant whose own parent ends (prctl(2), Linux)."""
    if sys.platform == "linux":
        pr_set_child_subreaper = 36
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def end_with_parent() -> None:
    """Have this process killed when its parent ends, even while it is stopped (prctl(2), Linux)."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


def set_dumpable(allowed: bool) -> None:
    """Set whether processes of the same user may read and change this one's memory and files.

    A debugger does that, by `ptrace` or /proc/PID/mem (prctl(2), Linux). A new program allows it;
    a fork does only if its parent does.
    """
    if sys.platform == "linux":
        pr_set_dumpable = 4
        ctypes.CDLL(None).prctl(pr_set_dumpable, int(allowed), 0, 0, 0)


def holds_more_than(pid: int, limit: int) -> bool:
    """Whether a process and its descendants together hold more than `limit` bytes of memory.

    Forks share the pages that they have not changed. Counting those only once takes longer, so it
    is done only if the plain sum is too large.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(pid)
        processes = [top, *top.children(recursive=True)]
        return (
            sum(map(_private_bytes, processes)) > limit
            and sum(map(_proportional_bytes, processes)) > limit
        )
    return False


def _private_bytes(process: psutil.Process) -> int:
    """The resident bytes of a process that are not backed by a file."""
    with contextlib.suppress(psutil.NoSuchProcess):
        memory = process.memory_info()
        return memory.rss - memory.shared
    return 0


def _proportional_bytes(process: psutil.Process) -> int:
    """The bytes of a process, where pages shared by several processes are divided among them."""
    try:
        return process.memory_full_info().pss
    except psutil.NoSuchProcess:
        return 0
    except psutil.AccessDenied:  # see `set_dumpable`
        return _private_bytes(process)


def ended_children() -> Iterator[tuple[int, int]]:
    """Reap each child that has ended: yield its process id and exit code (-9 for signal 9)."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, os.waitstatus_to_exitcode(status)


def has_children() -> bool:
    """Whether this process has children, including any that have ended but are not reaped yet."""
    if not hasattr(os, "waitid"):
        return bool(psutil.Process().children())
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def still_the_same(pid: int, created: float) -> psutil.Process | None:
    """The process with this id and creation time, or None if it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if process.create_time() == created:
            return process
    return None


def waited_for_a_core(pid: int) -> float:
    """The seconds, summed over its threads, for which a process waited for a core (Linux).

    That is the second number of /proc/PID/task/TID/schedstat, in nanoseconds (proc(5)).
    """
    waited = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        # The thread may have ended meanwhile, and some kernels do not count.
        with contextlib.suppress(OSError, IndexError):
            waited += int(Path(path).read_text().split()[1])
    return waited / 1e9


def extension(pids: Iterable[int], limit: float) -> float:
    """Seconds by which to extend a patient limit: the longest wait of a process for a core."""
    waited = max(map(waited_for_a_core, pids), default=0.0)
    return min(waited, MAX_EXTENSION * limit)


def kill_tree(top: psutil.Process) -> None:
    """Kill a process and every process below it, including any that they start meanwhile.

    The process itself is suspended first and killed last, so it adopts orphans to the end.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        top.suspend()
        end = time.monotonic() + KILL_S
        while (alive := _alive_below(top)) and time.monotonic() < end:
            kill(alive)
            time.sleep(0.01)
        top.kill()


def _alive_below(top: psutil.Process) -> list[psutil.Process]:
    """The processes below one, except zombies, which have ended and wait to be reaped."""
    alive = []
    for process in top.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
    return alive


def kill_below() -> None:
    """Kill every process below this one."""
    kill(psutil.Process().children(recursive=True))


def kill(victims: Iterable[psutil.Process]) -> None:
    """Kill processes, some of which may have ended."""
    for victim in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a child, which may have ended meanwhile."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
