"""On a rank: the time, how long a thread waited for a core, and how busy the machine was."""

import contextlib
import os
import time
from collections.abc import Collection
from pathlib import Path

from course.diagnostics.watch import usage

TICKS = os.sysconf("SC_CLK_TCK")


def ahead_of_calendar() -> float:
    """Seconds that the clock of the recorder, ``perf_counter``, is ahead of that of the calendar.

    Of several readings the shortest counts, because during the others the thread may have waited
    for a core.
    """
    readings = []
    for _ in range(5):
        before, calendar, after = time.perf_counter(), time.time(), time.perf_counter()
        readings.append((after - before, (before + after) / 2 - calendar))
    return min(readings)[1]


class RunQueue:
    """Seconds for which the thread that made it was ready to run, and waited for a core.

    Linux counts them for each thread (Documentation/scheduler/sched-stats.rst). Elsewhere they
    are 0.
    """

    def __init__(self) -> None:
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def seconds(self) -> float:
        """The seconds so far."""
        if self._file is None:
            return 0.0
        return int(os.pread(self._file, 64, 0).split()[1]) / 1e9

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)


class NetworkQueues:
    """The threads that send and receive for torch: how long they waited for a core, and ran."""

    NAMES = ("gloo", "pt_gloo")  # as Gloo and torch call them

    def __init__(self) -> None:
        self._files: list[int] = []

    def find(self) -> None:
        """Find the threads, which start when the ranks join."""
        self.close()
        for thread in Path("/proc/self/task").glob("*"):
            with contextlib.suppress(OSError):
                if (thread / "comm").read_text().startswith(self.NAMES):
                    flags = os.O_RDONLY | os.O_CLOEXEC
                    self._files.append(os.open(thread / "schedstat", flags))

    def seconds(self) -> list[tuple[float, float]]:
        """Of each thread, how long it has waited for a core and how long it has run."""
        times = []
        with contextlib.suppress(OSError):  # a thread has ended
            for file in self._files:
                ran, waited, _ = os.pread(file, 64, 0).split()
                times.append((int(waited) / 1e9, int(ran) / 1e9))
        return times

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            os.close(file)
        self._files = []


class Usage:
    """What this process and the cores that it may use have done since this object was made."""

    def __init__(self) -> None:
        self.usable = _usable()
        self._start = self._counters()

    def so_far(self) -> dict[str, float]:
        """Seconds by the names that a `RankReport` has for them."""
        names = ("watched_s", "cpu_s", "busy_s", "queued_s")
        both = zip(names, self._counters(), self._start, strict=True)
        return {name: now - then for name, now, then in both}

    def _counters(self) -> tuple[float, ...]:
        return (time.perf_counter(), _computed(), _busy(self.usable), usage.queued())


def _computed() -> float:
    """Seconds that this process has computed, and those that it started, as a loader's workers."""
    ended = os.times()
    below = ended.children_user + ended.children_system + usage.computed_below(os.getpid())
    return time.process_time() + below


def _usable() -> list[int]:
    """The logical cores on which this process may run; none outside of Linux."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _busy(cores: Collection[int]) -> float:
    """Seconds that these cores have been busy, all together; 0 outside of Linux.

    Seconds that a hypervisor has given to other machines count as well.
    """
    names = {f"cpu{core}" for core in cores}
    ticks = 0
    with contextlib.suppress(OSError), open("/proc/stat") as file:
        for line in file:
            name, *counts = line.split()[:9]
            if name in names:
                user, nice, system, _, _, irq, softirq, steal = map(int, counts)
                ticks += user + nice + system + irq + softirq + steal
    return ticks / TICKS
