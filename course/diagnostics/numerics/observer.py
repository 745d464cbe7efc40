"""On a rank: record the numerics of the script that runs here, and write the rank's report."""

import atexit
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from course.diagnostics.numerics.batches import Batches
from course.diagnostics.numerics.context import RankContext
from course.diagnostics.numerics.fence import Fence
from course.diagnostics.numerics.recorder import NumericsRecorder
from course.diagnostics.numerics.training import RandomWorker, TrainingReport
from course.diagnostics.watch import report_files
from course.diagnostics.watch.lines import Lines
from course.diagnostics.watch.process import BATCHES


def observe(folder: Path, steps: int, script: str) -> Callable[[], None]:
    """Watch up to `steps` steps of each optimizer here, then write a report to `folder`.

    Returns the function that ends the watch when the script ends, and writes the final report.
    """
    report = TrainingReport(*report_files.launched_as(), 1, os.uname().nodename)
    context = RankContext(report, Lines(script), Fence(report.unseen))

    def write() -> None:
        if report_files.is_of_a_rank(report):
            report.local = report_files.local_ranks(report.world)
            report.workers = _workers(folder, report.rank)
            report_files.write(report, folder)

    def end() -> None:
        if os.getpid() == context.fence.process and not report.is_over:
            report.is_over = True
            with context.fence.around("report"):
                recorder.end()
            write()

    def full() -> None:
        with context.fence.around("report"):
            write()

    recorder = NumericsRecorder(context, steps, folder, full)
    recorder.install()
    if batches := os.environ.get(BATCHES):
        Batches(Path(batches), context, lambda: recorder.is_full).install()
    atexit.register(end)
    return end


def _workers(folder: Path, rank: int) -> list[RandomWorker]:
    """The loader workers of this rank that reported that they draw random numbers."""
    workers: list[RandomWorker] = []
    for path in sorted(folder.glob(f"drawn-{rank}-*.json")):
        with suppress(ValueError, OSError):
            content = json.loads(path.read_text())
            workers += [
                RandomWorker(content["number"], kind, state)
                for kind, state in content["drawn"].items()
            ]
    return workers
