"""In the warm server: keep its memory in huge pages, so that a fork has fewer pages to copy.

A fork copies its parent's page table, in which one page of 2 MiB replaces 512 pages of 4 KiB.
"""

import contextlib
import ctypes
import re
from pathlib import Path

MADV_COLLAPSE = 25  # asm-generic/mman-common.h; Linux 6.1 and later
HUGE = 2 * 2**20  # bytes
WRITABLE = re.compile(r"^(\w+)-(\w+) rw-p \w+ 00:00 0 +(\[heap\])?$", re.MULTILINE)


def collapse() -> None:
    """Ask Linux for huge pages for all memory of this process; do nothing where there are none."""
    with contextlib.suppress(OSError, AttributeError):
        madvise = ctypes.CDLL(None).madvise
        for start, end, _ in WRITABLE.findall(Path("/proc/self/maps").read_text()):
            first = -(-int(start, 16) // HUGE) * HUGE
            size = int(end, 16) // HUGE * HUGE - first
            if size > 0:
                madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), MADV_COLLAPSE)
