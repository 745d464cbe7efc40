"""In the client: count the processes killed because memory had run out (Linux).

The count is that of this process's control group, which its ranks share, or if there is none of
the whole machine. Each file has a line `oom_kill COUNT`.
"""

import contextlib
from pathlib import Path

GROUPS = Path("/proc/self/cgroup")
MOUNT = Path("/sys/fs/cgroup")
MACHINE = Path("/proc/vmstat")


def kills() -> int:
    """The count so far; 0 if the system does not count."""
    for file in (*_files_of_the_group(), MACHINE):
        with contextlib.suppress(OSError, ValueError):
            for line in file.read_text().splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
    return 0


def _files_of_the_group() -> list[Path]:
    """The files in which control groups of version 2 (cgroups(7)) and version 1 count."""
    files = []
    with contextlib.suppress(OSError, ValueError):
        for line in GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                files.append(MOUNT / path.lstrip("/") / "memory.events")
            elif "memory" in controllers.split(","):
                files.append(MOUNT / "memory" / path.lstrip("/") / "memory.oom_control")
    return files
