"""How much memory this process takes at most."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def at_most(mib: int) -> Iterator[None]:
    """Fail if this process takes more memory than that meanwhile."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the highest so far
    before = peak_mib()
    yield
    assert peak_mib() - before < mib


def peak_mib() -> int:
    """The most memory that this process has held, in MiB."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) // 1024
