"""Run a command from a notebook with `launch`, while code inside each process watches it."""

import shutil
import tempfile
import threading
from pathlib import Path
from typing import Self

from course.core import Interrupted
from course.diagnostics.run.ending import ITSELF, LIMIT, RunEnding
from course.diagnostics.run.patience import Patience
from course.diagnostics.run.thresholds import PATIENCE_S
from course.diagnostics.watch import report_files
from course.diagnostics.watch.command import environment
from course.diagnostics.watch.process import PROFILING
from course.launch import Event, Reason, Run, SupervisorStarted, Watch, launch

POLL_S = 0.2  # between two checks whether the run is over
# Python's own fault handler stays off: the course's writes the stacks to a file that is read here.
ENV = {"PYTHONFAULTHANDLER": ""}


class WatchedRun:
    """One run of a command, which is ended when its ranks hang for `patience` seconds.

    That many `steps` of each rank are watched: their times or their numbers, as `looks_at` says.
    With `stop`, the run is ended once all ranks have reported. `folder` exists inside the `with`.
    """

    def __init__(
        self,
        steps: int = 0,
        stop: bool = False,
        patience: float = PATIENCE_S,
        looks_at: str = PROFILING,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="course-own-"))
        self._steps, self._may_stop, self._looks_at = steps, stop, looks_at
        self._patience = Patience(self.folder, print, patience, extends_limit=True)
        self._stop, self._over = threading.Event(), threading.Event()
        self._saw_enough = False

    def __enter__(self) -> Self:
        return self

    def run(
        self,
        words: list[str],
        watch: Watch = lambda run, event: None,
        limit: float | None = None,
    ) -> Run:
        """Run the command to its end, or for at most `limit` seconds.

        Seconds in which a rank waited for a core do not count. `watch` gets the events of the run,
        as from `launch`. Raises `Interrupted` if the user interrupts the run.
        """
        runs: list[Run] = []

        def on_event(run: Run, event: Event) -> None:
            runs[:] = [run]
            if isinstance(event, SupervisorStarted):
                self._patience.begin(limit)
            watch(run, event)

        env = environment(self.folder, self._steps, looks_at=self._looks_at) | ENV
        watcher = threading.Thread(target=self._wait_until_over, daemon=True)
        watcher.start()
        try:
            launch(words, on_event, env=env, stop=self._stop)
        except Interrupted:
            if not self._stop.is_set():
                raise
        finally:
            self._over.set()
            watcher.join()
        return runs[0]

    def ending(self, run: Run) -> RunEnding:
        """How and why a run has ended, judging by the last snapshots of its ranks.

        This also sets `run.waits_in`, the calls in which its ranks waited, and `run.reason` if the
        limit ended it.
        """
        self._over.set()
        ended = ITSELF
        if run.reason == Reason.INTERRUPTED:
            by_user = not self._stop.is_set()
            ended = self._patience.how_ended(by_user, self._saw_enough)
        if ended == LIMIT:
            run.reason = Reason.LIMIT
        ending = self._patience.ending(ended, 0 if run.ok else run.launcher_code or 1)
        run.waits_in = ending.waits_in
        return ending

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_until_over(self) -> None:
        while not self._over.wait(POLL_S):
            self._saw_enough = self._may_stop and report_files.can_be_ended(self.folder)
            if self._saw_enough or self._patience.is_over():
                self._stop.set()
                return
