"""On a rank: read what this process has used so far, most of it from /proc, or 0 without it."""

import os
import resource
from contextlib import suppress
from pathlib import Path


def computed() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def sleeps() -> int:
    """How often the main thread has gone to sleep."""
    with suppress(OSError, ValueError), open(f"/proc/self/task/{os.getpid()}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary"))
    return 0


def queued() -> float:
    """Seconds that the threads of this process have waited for a core."""
    total = 0.0
    for thread in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError, ValueError, IndexError):  # it has ended, or Linux does not count
            total += int(thread.read_text().split()[1]) / 1e9
    return total


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
