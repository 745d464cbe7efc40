"""In client and supervisor: the folder of a run, with all that its processes wrote and logged.

A folder is deleted only if everything about it shows that it is the course's: its place, its name,
the text of its marker, and the name of each file in it. Whatever a user keeps there stays.
"""

import contextlib
import json
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course.core import RUNS, CourseError

KEPT_RUNS = 20  # folders of finished runs
FINISHED = "finished"  # marks the folder of a run that has ended: it may be deleted
METRICS = "metrics.jsonl"  # what the ranks log, one row per line
NAME = re.compile(r"run-\d{8}-\d{6}-[\w.-]+-[a-z0-9_]{8}")
FILES = re.compile(rf"{FINISHED}|{re.escape(METRICS)}|launcher\.log|rank\d+\.log")


def new(command: Sequence[str]) -> Path:
    """Make a folder in RUNS for the command, or a temporary one if RUNS cannot be written.

    Raises `CourseError` if neither is possible.
    """
    scripts = (Path(part).stem for part in command if part.endswith(".py"))
    name = time.strftime("run-%Y%m%d-%H%M%S-") + re.sub(r"[^\w.-]", "_", next(scripts, command[0]))
    try:
        RUNS.mkdir(exist_ok=True)
        _prune()
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=RUNS)).resolve()
    except OSError:
        try:
            return Path(tempfile.mkdtemp(prefix=f"course-{name}-"))
        except OSError as error:
            raise CourseError(
                f"No folder for the run's logs can be made: {error.strerror}; free some space."
            ) from None


def _prune() -> None:
    """Delete the oldest folders of finished runs; those of unfinished runs are not touched."""
    finished = sorted(folder for folder in RUNS.iterdir() if may_delete(folder))
    for folder in finished[: -(KEPT_RUNS - 1)]:
        with contextlib.suppress(OSError):  # another kernel deletes it, or it may not be deleted
            # The marker goes last, so that a folder deleted only in part is recognized next time.
            for file in sorted(folder.iterdir(), key=lambda file: file.name == FINISHED):
                file.unlink()
            folder.rmdir()


def may_delete(folder: Path) -> bool:
    """Whether a folder may be deleted: it is ours, holds only our files, and its run has ended."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if NAME.fullmatch(folder.name) and not folder.is_symlink() and folder.is_dir():
            marker = folder / FINISHED
            return all(map(_is_ours, folder.iterdir())) and marker.read_text() == _marker_text(
                folder
            )
    return False


def _is_ours(file: Path) -> bool:
    """Whether the course writes a file of this name into the folder of a run."""
    return bool(FILES.fullmatch(file.name)) and not file.is_symlink() and file.is_file()


def _marker_text(folder: Path) -> str:
    """The marker's text; it names the folder, so it does not fit a renamed or copied folder."""
    return f"{folder.name} has ended, and the multi-GPU course may delete this folder.\n"


def mark_finished(folder: Path) -> None:
    """Write the marker: the run has ended, and its folder may be deleted."""
    with contextlib.suppress(OSError):  # on a full disk the folder is kept
        (folder / FINISHED).write_text(_marker_text(folder))


class MetricsFile:
    """The metrics file of a run, read while the ranks append to it."""

    def __init__(self, folder: Path) -> None:
        self.path, self._position = folder / METRICS, 0

    def new_rows(self) -> list[dict[str, Any]]:
        """The rows completed since the last call, without lines that a full disk has cut short."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        return [row for line in whole.splitlines() if (row := _row(line))]


def _row(line: bytes) -> dict[str, Any] | None:
    """The row that a line holds; None if it is not one that the course has written."""
    with contextlib.suppress(ValueError, RecursionError):
        row = json.loads(line)
        if isinstance(row, dict) and {"rank", "time"} <= row.keys():
            return row
    return None
