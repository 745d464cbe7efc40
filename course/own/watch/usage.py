"""On a rank: what this process has used so far, by /proc (proc(5)); nothing where there is none."""

import os
import resource
from contextlib import suppress
from pathlib import Path

from course.own.watch.thresholds import POLLS


def computed() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def sleeps() -> int:
    """How often the main thread has gone to sleep."""
    with suppress(OSError, ValueError), open(f"/proc/self/task/{os.getpid()}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary"))
    return 0


Queues = dict[int, tuple[float, float]]


def queues() -> Queues:
    """Seconds that each thread of this process has run, and has waited for a core."""
    times: Queues = {}
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError, ValueError):  # it has ended, or Linux does not count
            ran, waited = file.read_text().split()[:2]
            times[int(file.parent.name)] = int(ran) / 1e9, int(waited) / 1e9
    return times


def queued() -> float:
    """Seconds that the threads of this process have waited for a core."""
    return sum(waited for _, waited in queues().values())


def at_work(before: Queues, now: Queues, span: float) -> float:
    """Seconds of `span` for which threads that compute have waited for a core.

    A thread that only looks whether there is something to do, as Gloo's does a hundred times a
    second, waits for a core each time, too.
    """
    return sum(
        waited - before[thread][1]
        for thread, (ran, waited) in now.items()
        if thread in before and ran - before[thread][0] > POLLS * span
    )


def computed_below(pid: int) -> float:
    """Seconds that the processes below this one have computed."""
    total = 0.0
    with suppress(OSError, ValueError, IndexError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                total += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
                total += computed_below(int(child))
    return total


def moved_bytes() -> int:
    """Bytes that this process has read from and written to files."""
    with suppress(OSError, ValueError), open("/proc/self/io") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("rchar", "wchar")))
    return 0
