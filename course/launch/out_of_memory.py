"""In the client: how many processes the system has killed because memory had run out (Linux).

The count is that of this process's control group, where there is one, which its ranks share; else
it is that of the whole machine. Each file has a line `oom_kill COUNT`.
"""

import contextlib
from pathlib import Path

GROUPS = Path("/proc/self/cgroup")
MOUNT = Path("/sys/fs/cgroup")
MACHINE = Path("/proc/vmstat")


def kills() -> int:
    """The count so far; 0 where the system does not count."""
    for file in (*_files_of_the_group(), MACHINE):
        with contextlib.suppress(OSError, ValueError):
            for line in file.read_text().splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count)
    return 0


def _files_of_the_group() -> list[Path]:
    """Where control groups count, in their second version (cgroups(7)) and in their first."""
    files = []
    with contextlib.suppress(OSError, ValueError):
        for line in GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                files.append(MOUNT / path.lstrip("/") / "memory.events")
            elif "memory" in controllers.split(","):
                files.append(MOUNT / "memory" / path.lstrip("/") / "memory.oom_control")
    return files
