"""Run anyone's command, and have each of its ranks watched from within."""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from course.core import CourseError, Interrupted
from course.launch import Event, Run, launch
from course.own.slow import devices
from course.own.watch import timeline
from course.own.watch.timeline import Rank

WITHIN = Path(__file__).with_name("on_rank.py")
MODULE = ("-m", "--module")
LIMIT_S = 7 * 24 * 3600.0  # a training is not ended for being long
LOOK_S = 0.2  # how often it is looked whether all ranks have told

Watch = Callable[[Run, Event], None]


def watch_ranks(
    words: list[str],
    steps: int = 20,
    stop: bool = False,
    watch: Watch = lambda run, event: None,
) -> tuple[Run, list[Rank]]:
    """Run a torchrun or accelerate command, and return the run with what its ranks have told.

    Each rank is watched for `steps` steps after a warm-up. With `stop` the run is then ended.
    `watch` is told of the run as `launch` does. Raises `CourseError` for a command that cannot be
    watched, and `Interrupted` if the user interrupts.
    """
    runs: list[Run] = []

    def seen(run: Run, event: Event) -> None:
        runs[:] = [run]
        watch(run, event)

    with tempfile.TemporaryDirectory(prefix="course-why-") as name:
        folder = Path(name)
        command = _watched(words, folder, steps)
        with _ending(folder, stop) as (told, ended):
            try:
                launch(command, watch=seen, limit=LIMIT_S, stop=ended)
            except Interrupted:
                if not told.is_set():
                    raise
        run = runs[0]
        run.words = words  # as the user typed it
        told = [timeline.read(path) for path in sorted(folder.glob("rank*.json"))]
        for rank in told:
            devices.see(rank, folder / f"gpu{rank.rank}.json")
        return run, told


def _watched(words: list[str], folder: Path, steps: int) -> list[str]:
    """The command with the script's name, or the module's, put behind what watches it."""
    if words[:3] == ["python", "-m", "torch.distributed.run"]:
        words = ["torchrun", *words[3:]]
    if words[:1] == ["python"]:
        raise CourseError(
            "python starts one process: `why` asks why several ranks are slow. "
            "Give it a torchrun or an accelerate command."
        )
    if words[:1] not in (["torchrun"], ["accelerate"]):
        raise CourseError(
            "`why` takes the command that starts your training: "
            "why -- torchrun --standalone --nproc-per-node 2 train.py."
        )
    place = next((n for n, word in enumerate(words) if word.endswith(".py") or word in MODULE), 0)
    if not place or (words[place] in MODULE and place + 1 == len(words)):
        raise CourseError(
            "`why` watches a Python script, and there is no name that ends in .py in this command, "
            "nor a module after -m: a program (--no-python) cannot be watched."
        )
    if words[place] not in MODULE and not Path(words[place]).is_file():
        raise CourseError(f"There is no script {words[place]} in {Path.cwd()}: check the name.")
    return [*words[:place], str(WITHIN), str(folder), str(steps), *words[place:]]


@contextmanager
def _ending(folder: Path, stop: bool) -> Iterator[tuple[threading.Event, threading.Event | None]]:
    """Two events: all ranks have told what they saw; and, with `stop`, the same to end the run."""
    told, over = threading.Event(), threading.Event()

    def look() -> None:
        while not over.wait(LOOK_S):
            files = list(folder.glob("rank*.json"))
            if files and len(files) == timeline.read(files[0]).local:
                told.set()
                return

    thread = threading.Thread(target=look, daemon=True)
    if stop:
        thread.start()
    try:
        yield told, told if stop else None
    finally:
        over.set()
        with contextlib.suppress(RuntimeError):  # never started
            thread.join()
