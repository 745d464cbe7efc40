"""In every Python process of a watched command: find out whether it is a rank, and watch it.

A rank is recognised by its environment, or by the process group that it joins, because children of
`mp.spawn` have no environment of their own. The launcher, the workers of loaders and other programs
that a rank starts run this code as well, but they are not watched, or not counted as ranks.
"""

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from course.diagnostics.watch.late_import import on_import

FOLDER = "COURSE_WATCH"  # the folder to which each process writes
STEPS = "COURSE_WATCH_STEPS"  # the number of steps for which each rank is watched
LOOKS_AT = "COURSE_WATCH_LOOKS_AT"  # the package that watches them, one of the next two
PROFILING, NUMERICS = "profiling", "numerics"  # for `why` and for `right`; each has an `observer`
REPORTS = "COURSE_WATCH_REPORTS"  # the folder for the ranks' reports on these steps
BATCHES = "COURSE_WATCH_BATCHES"  # the folder for the batches of its loaders, for `right --deep`
RANK, WORLD = "COURSE_RANK", "COURSE_WORLD"  # rank and world size, if a scheduler started the rank
CLAIMED = "COURSE_WATCH_PID"  # the process id of the rank from which a process descends

NO_RANKS = ("torchrun", "torch.distributed.run", "accelerate", "resource_tracker", "forkserver",
            "compile_worker")  # programs that start ranks, or help them  # fmt: skip

_state: dict[str, Any] = {}  # the objects that watch this process


def begin() -> None:
    """Begin to watch this process, if the environment asks for it."""
    folder = os.environ.get(FOLDER, "")
    if not os.path.isdir(folder) or CLAIMED in os.environ:
        return  # a loader worker of a rank, or another program that a rank starts
    rank = _number(RANK, "RANK")
    if rank is not None:
        os.environ[CLAIMED] = str(os.getpid())
    if _may_be_a_rank(rank):
        _start_recording(Path(folder), rank)
    os.register_at_fork(after_in_child=_state.clear)
    _state["import"] = late = on_import("torch", lambda _: _on_torch_import(Path(folder), rank))
    late.__enter__()


def _on_torch_import(folder: Path, rank: int | None) -> None:
    """Record calls, now that torch is imported, and have `why` or `right` watch steps."""
    with suppress(Exception):  # a failure of ours never reaches the script
        if "calls" not in _state:
            _start_recording(folder, rank)
        _state["calls"].install()
        if (steps := os.environ.get(STEPS)) and _may_be_a_rank(rank):
            observer = import_module(
                f"course.diagnostics.{os.environ.get(LOOKS_AT, PROFILING)}.observer"
            )
            reports = Path(os.environ.get(REPORTS, folder))
            _at_end(observer.observe(reports, int(steps), sys.argv[0]))
        _at_end_of_child()


def _may_be_a_rank(rank: int | None) -> bool:
    """Whether this is a rank, or may join a group as the child of a script that spawns ranks."""
    return rank is not None or not any(word in " ".join(sys.orig_argv) for word in NO_RANKS)


def _start_recording(folder: Path, rank: int | None) -> None:
    from course.diagnostics.watch import exits
    from course.diagnostics.watch.calls import Calls
    from course.diagnostics.watch.snapshots import SnapshotWriter

    own = folder / f"{os.uname().nodename}-{os.getpid()}"
    own.mkdir(exist_ok=True)
    calls = Calls(own / "calls")
    writer = SnapshotWriter(own, calls, rank, _number(WORLD, "WORLD_SIZE") or 1)
    _state.update(calls=calls, writer=writer)
    writer.start()
    exits.note(writer)
    _at_end(lambda: writer.end(_last_exception()))


def _at_end(call: Callable[[], None]) -> None:
    """Call a function once, when this process ends."""
    process = os.getpid()

    def ours() -> None:
        if os.getpid() == process:
            with suppress(Exception):
                call()

    atexit.register(ours)
    _state.setdefault("ends", []).append(ours)


def _at_end_of_child() -> None:
    """Also call these functions when `multiprocessing` ends a child, while its exception is known.

    This is registered in every process, because a spawned child that imports torch does not know
    yet that it is one.
    """
    from multiprocessing.util import Finalize

    for end in _state["ends"]:
        Finalize(None, end, exitpriority=100)


def _last_exception() -> BaseException | None:
    """The exception that ends this process, if one does."""
    error = sys.exc_info()[1] or getattr(sys, "last_value", None)
    if isinstance(error, SystemExit):
        error = error.__context__  # `mp.spawn` ends a child that raised with `sys.exit`
    return error


def _number(*names: str) -> int | None:
    number = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return int(number) if number.isdecimal() else None
