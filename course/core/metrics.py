"""Metrics that a script logs: a table in the notebook, a line in a terminal."""

import errno
import json
import os
import sys
import time

# A launch names a file in this variable; in a plain terminal it is not set, and `log` prints.
METRICS_FILE = "COURSE_METRICS_FILE"
_unwritable: set[str] = set()  # files that could not be written, each reported once


def log(**metrics: float | int | str) -> None:
    """Record one row of metrics, such as ``log(step=20, steps=300, loss=0.93)``.

    The row gets this process's ``rank`` (from the launcher's environment, 0 without one) and a
    ``time`` in seconds since the epoch, unless the call names them. ``step`` and ``steps`` drive
    the progress bar of the notebook; every other number becomes a curve. Values are Python numbers
    or strings; a one-element tensor is read with `.item()`.
    """
    row = {"rank": int(os.environ.get("RANK", 0)), "time": time.time()}
    row |= {
        name: value.item() if hasattr(value, "item") else value for name, value in metrics.items()
    }
    path = os.environ.get(METRICS_FILE)
    if path is None or not _append(path, json.dumps(row) + "\n"):
        shown = ("rank", *metrics) if "RANK" in os.environ else tuple(metrics)
        print("  ".join(f"{name} {_short(row[name])}" for name in shown), flush=True)


def _append(path: str, line: str) -> bool:
    """Append in one write, so that rows of several ranks never mix; return whether it succeeded.

    After a row that could not be written, or only in part, the next one begins a new line.
    """
    row = (b"\n" if path in _unwritable else b"") + line.encode()
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            if os.write(file, row) < len(row):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)
    except OSError as error:
        if path not in _unwritable:
            _unwritable.add(path)
            why = f"metrics are printed, since {path} cannot be written: {error.strerror}"
            print(why, file=sys.stderr)
        return False
    return True


def _short(value: float | int | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
