"""Read what this process may use of the machine: cores and memory, within a container's limits.

Every function reads files below `root`, the folder that holds /proc and /sys, so that tests can
build a machine.
"""

import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path

import psutil


def affinity() -> set[int]:
    """The logical cores that this process may run on; all of them if the system is not Linux."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def cpu_name(root: Path) -> str:
    """The processor's model name."""
    match = re.search(r"^model name\s*:\s*(.+)$", text(root / "proc/cpuinfo"), re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def physical_cores(root: Path, usable: set[int]) -> int:
    """The number of physical cores behind the `usable` logical ones."""
    cores = set()
    for block in text(root / "proc/cpuinfo").split("\n\n"):
        pattern = r"^(processor|physical id|core id)\s*:\s*(\d+)$"
        fields = dict(re.findall(pattern, block, re.MULTILINE))
        if int(fields.get("processor", -1)) in usable and "core id" in fields:
            cores.add((fields.get("physical id"), fields["core id"]))
    return len(cores) or min(psutil.cpu_count(logical=False) or len(usable), len(usable))


def cpu_quota(root: Path) -> float | None:
    """The number of cores that the container may use on average, None if there is no limit.

    Read from `cpu.max` (cgroups version 2) or `cpu.cfs_quota_us` (version 1).
    """
    quotas = []
    for folder in cgroups(root, "cpu"):
        quota, _, period = text(folder / "cpu.max").partition(" ")
        quota = quota or text(folder / "cpu.cfs_quota_us")
        period = period or text(folder / "cpu.cfs_period_us")
        if re.fullmatch(r"\d+", quota.strip()) and int(period or 0) > 0:
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def memory(root: Path) -> tuple[int, int]:
    """Total and free bytes for this process: the machine's, or its container's.

    The container's page cache counts as free.
    """
    machine = psutil.virtual_memory()
    total, free = machine.total, machine.available
    for folder in cgroups(root, "memory"):
        limit = text(folder / "memory.max") or text(folder / "memory.limit_in_bytes")
        if not re.fullmatch(r"\d+", limit.strip()) or int(limit) >= machine.total:
            continue
        used = int(text(folder / "memory.current") or text(folder / "memory.usage_in_bytes") or 0)
        pattern = r"^(?:total_)?inactive_file (\d+)$"
        cache = re.findall(pattern, text(folder / "memory.stat"), re.MULTILINE)
        total = min(total, int(limit))
        free = min(free, max(0, int(limit) - used + max(map(int, cache), default=0)))
    return total, free


def cgroups(root: Path, controller: str) -> Iterable[Path]:
    """The control-group folders whose limits apply here, from this process's own up to the top."""
    for line in text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup"
        joint = (mount / controllers).is_dir()  # version 1 mounts some together, as cpu,cpuacct
        top = mount / (controllers if joint else controller)
        here = Path(path.lstrip("/"))
        # In a container the path may be the host's, which is not there; its parents are.
        yield from (top / folder for folder in (here, *here.parents))


def text(path: Path) -> str:
    """The text of a file, "" if it cannot be read."""
    try:
        return path.read_text(errors="replace").rstrip("\n")
    except OSError:
        return ""
