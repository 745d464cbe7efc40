"""Runs commands as `%why` does, for tests of what their ranks report."""

from course.diagnostics import WatchedRun, reports
from course.diagnostics.profiling.timeline import RankReport
from course.launch import Run

STEPS = 20  # of each rank that are watched, after a warm-up


def watch_ranks(command: list[str]) -> tuple[Run, list[RankReport]]:
    """Run a command to its end; return the run and the reports of its ranks."""
    with WatchedRun(STEPS) as watched_run:
        return watched_run.run(command), reports(watched_run.folder)
