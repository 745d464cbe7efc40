"""On a rank: read the time, how long threads waited for a core, and how busy the cores were."""

import contextlib
import os
import time
from collections.abc import Collection
from pathlib import Path

from course.diagnostics.watch import usage

TICKS = os.sysconf("SC_CLK_TCK")


def calendar_offset() -> float:
    """Seconds by which the recorder's clock, ``perf_counter``, is ahead of the calendar's clock.

    The shortest of several readings counts, because the thread may have waited for a core during
    a longer one.
    """
    readings = []
    for _ in range(5):
        before, calendar, after = time.perf_counter(), time.time(), time.perf_counter()
        readings.append((after - before, (before + after) / 2 - calendar))
    return min(readings)[1]


class RunQueue:
    """Measures how long the thread that made this object was ready to run but had no core.

    Linux counts this for each thread (Documentation/scheduler/sched-stats.rst). Elsewhere the
    result is 0.
    """

    def __init__(self) -> None:
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def seconds(self) -> float:
        """Seconds of waiting for a core since the thread started."""
        if self._file is None:
            return 0.0
        return int(os.pread(self._file, 64, 0).split()[1]) / 1e9

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)


class NetworkQueues:
    """Measures how long the threads that send and receive for torch ran and waited for a core."""

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
        """For each thread, the seconds that it has waited for a core and the seconds it has run."""
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
    """Measures the use of this process and of its cores since this object was made."""

    def __init__(self) -> None:
        self.usable = _usable_cores()
        self._start = self._counters()

    def so_far(self) -> dict[str, float | None]:
        """The seconds so far, by the names of their fields in a `RankReport`."""
        names = ("watched_s", "cpu_s", "busy_s", "queued_s")
        pairs = zip(names, self._counters(), self._start, strict=True)
        return {
            name: None if now is None or then is None else now - then for name, now, then in pairs
        }

    def _counters(self) -> tuple[float | None, ...]:
        return (
            time.perf_counter(),
            _cpu_seconds(),
            _busy_seconds(self.usable),
            usage.core_wait_seconds(),
        )


def _cpu_seconds() -> float:
    """CPU seconds of this process and of the processes it started, such as a loader's workers."""
    ended = os.times()
    below = ended.children_user + ended.children_system + usage.cpu_seconds_below(os.getpid())
    return time.process_time() + below


def _usable_cores() -> list[int]:
    """The numbers of the logical cores on which this process may run; empty outside Linux.

    On Linux, `course.hardware.quotas.affinity` does the same. But `course.hardware` is slow to
    import, and this runs on a rank while its steps are watched.
    """
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _busy_seconds(cores: Collection[int]) -> float | None:
    """Seconds for which these cores have been busy, summed over the cores; None outside Linux.

    Time that a hypervisor has given to other machines counts as busy.
    """
    names = {f"cpu{core}" for core in cores}
    with contextlib.suppress(OSError), open("/proc/stat") as file:
        ticks = 0
        for line in file:
            name, *counts = line.split()[:9]
            if name in names:
                user, nice, system, _, _, irq, softirq, steal = map(int, counts)
                ticks += user + nice + system + irq + softirq + steal
        return ticks / TICKS
    return None
