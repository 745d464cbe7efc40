"""The peak of this process's memory."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def at_most(mib: int) -> Iterator[None]:
    """Fail if the peak of this process's memory grows by `mib` MiB or more inside the block."""
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before = peak_mib()
    yield
    assert peak_mib() - before < mib


def peak_mib() -> int:
    """The most memory that this process has used, in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) // 1024
