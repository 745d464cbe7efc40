"""Read from /proc which process has an id, and which signals it catches (proc(5)).

This does without psutil, which the Python environment of a rank may lack.
"""

from contextlib import suppress
from pathlib import Path


def creation_ticks(pid: int) -> int:
    """When a process was created, in clock ticks since the machine started; 0 if unknown."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return int(fields[19])
    return 0


def catches(pid: int, number: int) -> bool | None:
    """Whether a process has a handler for a signal; None if unknown."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return None
