"""On a rank: read what this process has used so far; without /proc, most of it is 0."""

import os
import resource
import threading
from contextlib import suppress
from operator import sub
from pathlib import Path

from course.diagnostics.watch.thresholds import POLLS_S


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def sleep_count() -> int:
    """How often the main thread has gone to sleep."""
    with suppress(OSError, ValueError), open(f"/proc/self/task/{os.getpid()}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary"))
    return 0


def core_wait_seconds() -> float:
    """Seconds for which the threads of this process have waited for a core, in total."""
    return sum(waited for _, waited, _ in _threads().values()) / 1e9


class CoreWaits:
    """Measures how long the threads of this process wait for a core although they have work to do.

    A thread that only polls also waits for a core each time it wakes: Gloo's thread does so a
    hundred times a second. But it then computes for microseconds, and a working thread for
    milliseconds.
    """

    def __init__(self) -> None:
        self._before: dict[str, list[int]] = {}

    def since_last(self) -> float:
        """Seconds of such waiting since the last call, of all threads but the calling one."""
        now, waits = _threads(), 0.0
        for thread, numbers in now.items():
            ran, waited, times = map(sub, numbers, self._before.get(thread, [0, 0, 0]))
            if ran > POLLS_S * 1e9 * times and thread != str(threading.get_native_id()):
                waits += waited / 1e9
        self._before = now
        return waits


def _threads() -> dict[str, list[int]]:
    """By thread: nanoseconds of running, nanoseconds of waiting for a core, and number of runs."""
    threads: dict[str, list[int]] = {}
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError, ValueError):  # the thread has ended, or this kernel does not count
            ran, waited, times = map(int, file.read_text().split())
            threads[file.parent.name] = [ran, waited, times]
    return threads


def cpu_seconds_below(pid: int) -> float:
    """CPU seconds of all living processes below the process `pid`."""
    total = 0.0
    with suppress(OSError, ValueError, IndexError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                total += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
                total += cpu_seconds_below(int(child))
    return total


def moved_bytes() -> int:
    """Bytes that this process has read from and written to files."""
    with suppress(OSError, ValueError), open("/proc/self/io") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("rchar", "wchar")))
    return 0
