"""In kernel and supervisor: the folder of a run, with all that its processes wrote and logged."""

import contextlib
import json
import re
import shutil
import tempfile
import time
from pathlib import Path

from course.core import CourseError

KEPT_RUNS = 20  # folders of finished runs kept in runs/
FINISHED = "finished"  # marks the folder of a run that has ended: it may be deleted
METRICS = "metrics.jsonl"  # what the ranks log, one row per line


def new(words: list[str]) -> Path:
    """A new folder in runs/ for the command, or among the temporary files if runs/ is read-only."""
    script = next((Path(word).stem for word in words if word.endswith(".py")), words[0])
    name = time.strftime("%Y%m%d-%H%M%S-") + re.sub(r"[^\w.-]", "_", script)
    runs = Path("runs")
    try:
        runs.mkdir(exist_ok=True)
        _prune(runs)
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=runs)).resolve()
    except OSError:
        try:
            return Path(tempfile.mkdtemp(prefix=f"course-run-{name}-"))
        except OSError as error:
            raise CourseError(
                f"No folder for the run's logs can be made: {error.strerror}; free some space."
            ) from None


def _prune(runs: Path) -> None:
    """Delete the oldest folders of finished runs; those of runs that go on are not touched."""
    finished = sorted(marker.parent for marker in runs.glob(f"*/{FINISHED}"))
    for folder in finished[: -(KEPT_RUNS - 1)]:
        shutil.rmtree(folder, ignore_errors=True)


def mark_finished(folder: Path) -> None:
    """Say that the run has ended and its folder may be deleted."""
    with contextlib.suppress(OSError):  # on a full disk the folder is kept
        (folder / FINISHED).touch()


class MetricsFile:
    """The rows that the ranks have logged since the last look."""

    def __init__(self, folder: Path) -> None:
        self.path, self._position = folder / METRICS, 0

    def new_rows(self) -> list[dict]:
        """Rows completed since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        return [json.loads(line) for line in whole.splitlines()]
