"""On a rank: watch the numbers of the script that runs here, and write down what was seen."""

import atexit
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from course.own.numbers.batches import Batches
from course.own.numbers.fence import Fence
from course.own.numbers.loading import Loading
from course.own.numbers.record import Rank, Worker
from course.own.numbers.watcher import Watcher
from course.own.watch import timeline
from course.own.watch.lines import Lines
from course.own.watch.process import BATCHES


def observe(folder: Path, steps: int, script: str) -> Callable[[], None]:
    """Watch this process for that many steps of each optimizer, then write them to `folder`.

    Call the function that it returns to end this: it adds what was seen since, to the end of the
    script.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    local = int(os.environ.get("LOCAL_WORLD_SIZE", world))
    report = Rank(int(os.environ.get("RANK", "0")), world, local, os.uname().nodename)
    fence, lines = Fence(report.unseen), Lines(script)

    def write() -> None:
        if report.backend or "RANK" in os.environ:
            report.local = int(os.environ.get("LOCAL_WORLD_SIZE", report.world))
            report.workers = _workers(folder, report.rank)
            timeline.write(report, folder / f"rank{report.rank}.json")

    def end() -> None:
        if os.getpid() == fence.process and not report.is_over:
            report.is_over = True
            watcher.end()
            write()

    def full() -> None:
        with fence.around("report"):
            write()

    watcher = Watcher(report, steps, lines, Loading(report, lines, fence, folder), fence, full)
    watcher.install()
    if kept := os.environ.get(BATCHES):
        Batches(Path(kept), report, fence, lambda: watcher.is_full).install()
    atexit.register(end)
    return end


def _workers(folder: Path, rank: int) -> list[Worker]:
    """What the workers of this rank's loaders have reported of their random numbers."""
    found = []
    for path in sorted(folder.glob(f"drawn-{rank}-*.json")):
        with suppress(ValueError, OSError):
            content = json.loads(path.read_text())
            found += [
                Worker(rank, content["number"], kind, state)
                for kind, state in content["drawn"].items()
            ]
    return found
