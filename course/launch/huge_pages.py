"""In the warm server: keep its memory in huge pages, so that a fork has fewer pages to copy.

A fork copies the table of its parent's pages. One page of 2 MB stands there for 512 of 4 kB.
"""

import contextlib
import ctypes
import re
from pathlib import Path

MADV_COLLAPSE = 25  # asm-generic/mman-common.h; Linux 6.1 and later
HUGE = 2 * 2**20  # bytes
WRITABLE = re.compile(r"^(\w+)-(\w+) rw-p \w+ 00:00 0 +(\[heap\])?$", re.MULTILINE)


def collapse() -> None:
    """Ask the system for huge pages for all memory of this process; nothing changes elsewhere."""
    with contextlib.suppress(OSError, AttributeError):
        madvise = ctypes.CDLL(None).madvise
        for start, end, _ in WRITABLE.findall(Path("/proc/self/maps").read_text()):
            first = -(-int(start, 16) // HUGE) * HUGE
            size = int(end, 16) // HUGE * HUGE - first
            if size > 0:
                madvise(ctypes.c_void_p(first), ctypes.c_size_t(size), MADV_COLLAPSE)
