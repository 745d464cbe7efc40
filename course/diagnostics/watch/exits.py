"""On a rank: note why a script ends if no exception is left when the process exits.

Python drops a `SystemExit` before it calls the functions registered with `atexit`. If it cannot
open the script, it raises nothing at all.
"""

import errno
import os
import sys
from typing import Any, NoReturn

from course.diagnostics.watch import snapshots

BY_NUMBER = "sys.exit("  # begins the text of a failure that has only an exit code


def note(writer: snapshots.SnapshotWriter) -> None:
    """From now on, give the writer every failure that leaves no exception."""
    script, real_exit = sys.argv[0], sys.exit
    if not script.startswith("-") and not os.path.exists(script or "."):
        reason = f"[Errno {errno.ENOENT}] {os.strerror(errno.ENOENT)}"  # as Python prints it
        text = f"can't open file {os.path.abspath(script)!r}: {reason}"
        writer.exit_failure = snapshots.failure(text, [])

    def exit(status: Any = None, /) -> NoReturn:
        if status:  # 0 and None mean success
            text = status if isinstance(status, str) else f"{BY_NUMBER}{status})"
            writer.exit_failure = snapshots.failure(text, list(snapshots.walk(sys._getframe(1))))
        real_exit(status)

    sys.exit = exit
