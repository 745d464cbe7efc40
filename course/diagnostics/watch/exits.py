"""On a rank: note why a script ends itself, where Python keeps no exception until the end.

Python forgets a `SystemExit` before it calls what is registered with `atexit`, and raises nothing
if it cannot open the script.
"""

import errno
import os
import sys
from typing import Any, NoReturn

from course.diagnostics.watch import snapshots

BY_NUMBER = "sys.exit("  # begins the text of a failure of which only the exit code is known


def note(writer: snapshots.SnapshotWriter) -> None:
    """From now on, tell the writer of failures that leave no exception."""
    script, leave = sys.argv[0], sys.exit
    if not script.startswith("-") and not os.path.exists(script or "."):
        says = f"[Errno {errno.ENOENT}] {os.strerror(errno.ENOENT)}"  # as Python prints it
        text = f"can't open file {os.path.abspath(script)!r}: {says}"
        writer.left = snapshots.failure(text, [])

    def exit(status: Any = None, /) -> NoReturn:
        if status:  # 0 and None are no failure
            text = status if isinstance(status, str) else f"{BY_NUMBER}{status})"
            writer.left = snapshots.failure(text, list(snapshots.walk(sys._getframe(1))))
        leave(status)

    sys.exit = exit
