"""On a rank: twice a second, note its threads' stacks, and how long the main one has not moved.

A separate thread takes these snapshots and writes them to a file. It is not a `threading.Thread`,
because the script would then find it among its own threads. While C code holds Python's lock, the
thread cannot run. In that case the fault handler writes the stacks when the process gets the signal
`ASK`.
"""

import _thread
import faulthandler
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from course.core import from_plain, user_files
from course.diagnostics.watch import identity, usage
from course.diagnostics.watch.calls import C10D, Calls
from course.diagnostics.watch.thresholds import BUSY_CORE, READS, SNAPSHOT_S

MAX_FRAMES = 100  # the number of frames of a stack that are kept
# Makes the fault handler write the stacks, whatever Python is doing. macOS has no real-time signal;
# there, this one is never sent, because no /proc says whether the process still catches it.
ASK = signal.SIGRTMAX - 5 if hasattr(signal, "SIGRTMAX") else signal.SIGURG
# A loop in one of these files only waits and checks again: a thread in it has not moved.
WAIT_LOOPS = ("dataloader.py", "threading.py", "queue.py", "selectors.py", "subprocess.py")
WAIT_LOOPS += ("connection.py", "popen_fork.py", "synchronize.py")
POLLS = (0, 0)  # marks the signature of a stack that is in such a loop


@dataclass
class ThreadStack:
    """The stack of a thread: its frames as (file, line, function), the innermost first.

    `error` is the exception that the thread is handling, "" if there is none. `error_at` is the
    user's line that raised it.
    """

    name: str
    frames: list[tuple[str, int, str]]
    error: str = ""
    error_at: str = ""


@dataclass
class Snapshot:
    """The state of a process at one moment; times in seconds.

    The main thread has not moved for `unmoved` seconds: it is in the same calls, and has begun
    neither a collective nor a backward pass. The process last computed, read or wrote `idle`
    seconds ago. `count` is the number of snapshots so far. `ended` is true once the script is over,
    and `error` is the exception that ended it. `unused` has the names of the parameters that got no
    gradient, as DDP reports them. `created` is the time of `identity.creation_ticks`.
    """

    rank: int | None
    world: int
    host: str
    pid: int
    began: float
    main: str = ""  # the main thread's identifier, as the fault handler writes it
    count: int = 0
    at: float = 0.0
    unmoved: float = 0.0
    idle: float = 0.0
    cuda: bool = False
    threads: list[ThreadStack] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)  # collectives that torch has not finished
    ended: bool = False
    error: ThreadStack | None = None
    unused: list[str] = field(default_factory=list)
    created: int = 0

    @property
    def main_thread(self) -> ThreadStack | None:
        """The main thread; None if there is no snapshot of it yet."""
        return self.threads[0] if self.threads else None


class SnapshotWriter:
    """Takes snapshots of this process, and writes them to `folder`."""

    def __init__(self, folder: Path, calls: Calls, rank: int | None, world: int) -> None:
        self._folder, self._calls = folder, calls
        main = threading.main_thread().ident or 0
        self._main = main
        pid = os.getpid()
        self.snapshot = Snapshot(rank, world, os.uname().nodename, pid, time.time())
        self.snapshot.main, self.snapshot.created = f"{main:016x}", identity.creation_ticks(pid)
        self._last_place: object = None
        self._moved_at = self._worked_at = time.monotonic()
        self._last_usage = (time.monotonic(), 0.0, 0, 0)
        self._core_waits = usage.CoreWaits()
        self._lock = _thread.allocate_lock()
        self.exit_failure: ThreadStack | None = None  # a failure without an exception (exits.py)

    def start(self) -> None:
        """Begin to take snapshots, and have the fault handler write to files of ours.

        A script that has enabled the handler keeps its own file for crashes. The handler also notes
        a SIGTERM, which launchers send to the other ranks after a failure: a rank that has ended
        without one failed first.
        """
        stacks = open(self._folder / "stacks", "w")  # noqa: SIM115  # open until the process ends
        if not faulthandler.is_enabled():
            faulthandler.enable(stacks)
        faulthandler.register(ASK, stacks)
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            terminated = open(self._folder / "terminated", "w")  # noqa: SIM115
            faulthandler.register(signal.SIGTERM, terminated, all_threads=False, chain=True)
        self._take_snapshot()
        _thread.start_new_thread(self._keep_taking_snapshots, ())

    def end(self, error: BaseException | None) -> None:
        """Take the last snapshot, because the script is over."""
        with self._lock:
            if self.snapshot.ended:
                return
            self.snapshot.ended = True
            self.snapshot.error = self.exit_failure
            if error is not None:
                self.snapshot.error = _describe_exception(error)
                self.snapshot.unused = _unused_parameters(error)
                self.snapshot.pending = _pending_collectives()
            self._note_rank()
            self._write()

    def _keep_taking_snapshots(self) -> None:
        while not self.snapshot.ended and os.getpid() == self.snapshot.pid:
            time.sleep(SNAPSHOT_S)
            with suppress(Exception):  # a failure of ours never reaches the script
                self._take_snapshot()

    def _take_snapshot(self) -> None:
        with self._lock:
            if self.snapshot.ended:
                return
            now = time.monotonic()
            frames = sys._current_frames()
            main = frames.get(self._main)
            signature = _signature(main)
            place = (*signature, self._calls.number, self._calls.passes)
            if place != self._last_place:
                self._last_place, self._moved_at = place, now
            if self._is_working(now, polls=signature[:1] == [POLLS]):
                self._worked_at = now
            snapshot = self.snapshot
            snapshot.count += 1
            snapshot.at = time.time()
            snapshot.unmoved, snapshot.idle = now - self._moved_at, now - self._worked_at
            snapshot.threads = list(self._threads(frames))
            # Reading torch's pending collectives is slow, so it is done only if the rank is stuck.
            snapshot.pending = _pending_collectives() if snapshot.unmoved > 2.0 else []
            self._note_rank()
            self._write()

    def _threads(self, frames: dict[int, FrameType]) -> Iterator[ThreadStack]:
        """The main thread, and all other threads that are in a collective."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        errors = sys._current_exceptions()
        for ident in sorted(frames, key=lambda thread: thread != self._main):
            stack = list(walk(frames[ident]))
            if ident == self._main or any(file.endswith(C10D) for file, _, _ in stack):
                current = errors.get(ident)
                error = current[1] if isinstance(current, tuple) else current
                raised = _describe_exception(error) if error is not None else ThreadStack("", [])
                name = names.get(ident, "a thread")
                yield ThreadStack(name, stack, raised.error, raised.error_at)

    def _is_working(self, now: float, polls: bool) -> bool:
        """Whether this process or one below it has computed, read, written or waited for a core.

        It also works if its main thread has gone to sleep again since the last snapshot. A loop may
        do all of its other work between two snapshots, and be at the same instruction in both.
        """
        then, cpu, moved, slept = self._last_usage
        # With a GPU, a thread that only waits computes and sleeps as well.
        own_cpu = 0.0 if self.snapshot.cuda else usage.cpu_seconds()
        sleeps = 0 if self.snapshot.cuda or polls else usage.sleep_count()
        self._last_usage = (
            now,
            own_cpu + usage.cpu_seconds_below(os.getpid()),
            usage.moved_bytes(),
            sleeps,
        )
        span = max(1e-3, now - then)
        computed = self._last_usage[1] - cpu + self._core_waits.since_last()
        sent = self._last_usage[2] - moved
        return computed > BUSY_CORE * span or sent > READS * span or sleeps > slept > 0

    def _note_rank(self) -> None:
        """Note the rank if the script has joined a group, and whether it uses a GPU."""
        torch = sys.modules.get("torch")
        if torch is None or not hasattr(torch, "distributed"):
            return
        with suppress(Exception):  # torch is being imported, or the group is being destroyed
            self.snapshot.cuda = torch.cuda.is_initialized()
            if torch.distributed.is_initialized():
                self.snapshot.rank = torch.distributed.get_rank()
                self.snapshot.world = torch.distributed.get_world_size()

    def _write(self) -> None:
        part = self._folder / "snapshot.part"
        part.write_text(json.dumps(asdict(self.snapshot)))
        part.replace(self._folder / "snapshot.json")


def walk(frame: FrameType | None) -> Iterator[tuple[str, int, str]]:
    """File, line and function of the first `MAX_FRAMES` frames from a frame outwards."""
    for _ in range(MAX_FRAMES):
        if frame is None:
            return
        yield frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name
        frame = frame.f_back


def _signature(frame: FrameType | None) -> list[tuple[int, int]]:
    """The current instruction of each frame, without the frames inside a loop that only waits."""
    signature: list[tuple[int, int]] = []
    while frame is not None:
        if os.path.basename(frame.f_code.co_filename) in WAIT_LOOPS:
            signature = [POLLS, (id(frame.f_code), 0)]
        else:
            signature.append((id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    return signature


def _describe_exception(error: BaseException) -> ThreadStack:
    """An exception as plain data: its message, its frames, and the user's line."""
    frames = traceback.extract_tb(error.__traceback__, limit=-MAX_FRAMES)
    stack = [(frame.filename, frame.lineno or 0, frame.name) for frame in reversed(frames)]
    return failure(traceback.format_exception_only(type(error), error)[-1].strip(), stack)


def failure(text: str, stack: list[tuple[str, int, str]]) -> ThreadStack:
    """A failure as plain data: its message, the frames, and the user's line."""
    own = next((frame for frame in stack if user_files.is_users(frame[0])), None)
    at = f"{os.path.basename(own[0])}:{own[1]}" if own else ""
    return ThreadStack("", stack, text[:2000], at)


def _unused_parameters(error: BaseException) -> list[str]:
    """The names of the parameters that DDP's error lists by their indices.

    It says "Parameter indices which did not receive grad for rank 1: 4".
    """
    _, mark, after = str(error).partition("Parameter indices which did not receive grad for rank")
    numbers = after.partition(":")[2].split("\n")[0].split() if mark else []
    indices = [int(number) for number in numbers if number.isdecimal()]
    trace = error.__traceback__
    while indices and trace is not None:
        module: Any = trace.tb_frame.f_locals.get("self")
        if type(module).__name__ == "DistributedDataParallel":
            ignored = getattr(module, "parameters_to_ignore", ())
            names = [
                name
                for name, parameter in module.module.named_parameters()
                if parameter.requires_grad and name not in ignored
            ]
            return [names[index] for index in indices if index < len(names)]
        trace = trace.tb_next
    return []


def _pending_collectives() -> list[str]:
    """The first three collectives that torch has begun and not finished, by its flight recorder."""
    dump = getattr(sys.modules.get("torch._C._distributed_c10d"), "_dump_fr_trace_json", None)
    if dump is None:
        return []
    with suppress(Exception):  # torch promises neither the name nor what it returns
        trace = json.loads(dump())
        waiting = [entry for entry in trace["entries"] if not entry["retired"]]
        return [
            f"{entry['profiling_name'].rpartition(':')[2]} of {entry['input_sizes']}"
            for entry in waiting[:3]
        ]
    return []


def read(path: Path) -> Snapshot | None:
    """Read the last snapshot of a process; None if it has written none."""
    try:
        raw = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return from_plain(Snapshot, raw)
