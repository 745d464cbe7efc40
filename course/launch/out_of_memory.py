"""In the client: count the processes that the system killed because memory ran out (Linux).

The count is that of this process's control group, which its ranks share, or of the whole machine if
the group has none. Each file has a line `oom_kill COUNT`.
"""

import re
from pathlib import Path

from course.hardware import quotas

FILES = ("memory.events", "memory.oom_control")  # of a control group, in versions 2 and 1


def kills(root: Path = Path("/")) -> int:
    """The number of processes killed so far; 0 if the system does not count them.

    `root` is the folder that holds /proc and /sys.
    """
    files = [folder / name for folder in quotas.cgroups(root, "memory") for name in FILES]
    for file in (*files, root / "proc/vmstat"):
        if count := re.search(r"^oom_kill (\d+)$", quotas.text(file), re.MULTILINE):
            return int(count[1])
    return 0
