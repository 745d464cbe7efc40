"""In the client: run a torchrun, accelerate or python command, and report on it while it runs.

The course starts ranks only through `launch`: the magics, the checks and the tests all call it.
"""

import contextlib
import math
import os
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

from course.core import Interrupted
from course.launch import out_of_memory, preflight, run_folder
from course.launch.channel import Channel
from course.launch.messages import (
    Done,
    Event,
    Interrupt,
    Logged,
    Message,
    Reason,
    RunEnded,
    StartRun,
    SupervisorStarted,
)
from course.launch.place import Here, Place
from course.launch.process_tree import MAX_EXTENSION
from course.launch.run import Run

OVERDUE_S = 30.0  # after the time limit, a supervisor must have ended the run, busy machine or not
INTERRUPTED_S = 10.0  # for a supervisor to end an interrupted run; after that it counts as dead
POLL_S = 0.25  # how often to look for metrics
# Python's fault handler writes a rank's stacks at the time limit. A kernel asks for colours in
# tracebacks, but they would hide what `Run.traceback` looks for. torch's profiler need not report
# that it starts.
DEFAULTS = {"PYTHONFAULTHANDLER": "1", "PYTHON_COLORS": "0", "KINETO_LOG_LEVEL": "6"}

Watch = Callable[[Run, Event], None]


def launch(
    command: list[str],
    watch: Watch = lambda run, event: None,
    limit: float = 0.0,
    env: dict[str, str] | None = None,
    stop: threading.Event | None = None,
    patient: bool = False,
    place: Place | None = None,
    module_folder: Path | None = None,
) -> Run:
    """Run a command such as ``["torchrun", "--standalone", "src/ddp.py"]`` until it ends.

    `watch(run, event)` is called with each event of the run (see `messages`). A `limit` other than
    0 ends the run after that many seconds, and each rank's stacks are then among its lines. A
    `patient` limit does not count the time in which the machine was busy with other work. `env`
    adds to the environment. `place` says where to run: here by default, in another network with
    `Here(host)`, or in a `Sandbox`. If the script runs another script, `module_folder` is the
    folder from which that one imports. An interrupt ends the run and raises `Interrupted`; setting
    `stop` does the same for a launch in a thread, which interrupts do not reach. Raises
    `CourseError` if nothing can be started.
    """
    command = preflight.shorten(command)
    preflight.check(command)
    folder = run_folder.new(command)
    metrics = run_folder.MetricsFile(folder)
    place = place or Here()
    request = StartRun(
        program=command[0],
        argv=command[1:],
        env={**DEFAULTS, **place.env(metrics.path), **(env or {})},
        cwd=place.cwd(),
        umask=_umask(),
        limit=limit,
        log_dir=place.log_dir(folder),
        host=place.host,
        patient=patient,
        module_folder=None if module_folder is None else str(module_folder),
    )
    return _Launch(request, Run(command, folder), metrics, watch, stop, place).finish()


class _Launch:
    """One launch: sends the request to a supervisor, and records the events of the run."""

    def __init__(
        self,
        request: StartRun,
        run: Run,
        metrics: run_folder.MetricsFile,
        watch: Watch,
        stop: threading.Event | None,
        place: Place,
    ) -> None:
        self._request, self._run, self._metrics = request, run, metrics
        self._watch, self._stop, self._place = watch, stop, place
        self._interrupted = False
        self._memory_checked = 0.0  # when the run's memory was last measured
        self._supervisor: SupervisorStarted | None = None

    def finish(self) -> Run:
        """Send the request, follow the run until it ends, and return its record."""
        start, kills = time.monotonic(), out_of_memory.kills()
        self._converse()
        self._read_metrics()
        self._run.wall_s = time.monotonic() - start
        self._run.memory_kills = out_of_memory.kills() - kills
        if self._interrupted:
            self._run.reason = Reason.INTERRUPTED
        self._report(Done())
        if self._interrupted:
            raise Interrupted
        return self._run

    def _converse(self) -> None:
        channel, overdue = self._place.connect(), self._overdue()
        tried_again = False
        _send(channel, self._request)
        while self._run.reason == Reason.RUNNING:
            try:
                for event in _events(channel):
                    self._report(event)
                self._read_metrics()
                if self._exceeds_memory():
                    self._place.end(self._supervisor, self._run)
                    self._report(RunEnded(Reason.MEMORY, code=1, left=0))
                    break
                if self._stop and self._stop.is_set() and not self._interrupted:
                    raise KeyboardInterrupt
                if time.monotonic() > overdue:  # the run's own code may have suspended it
                    raise EOFError
            except KeyboardInterrupt:
                if not self._interrupted:
                    overdue = min(overdue, time.monotonic() + INTERRUPTED_S)
                self._interrupted = True
                _send(channel, Interrupt())
            except EOFError:
                may_serve = not self._interrupted and time.monotonic() < overdue
                again = None
                if not self._supervisor and may_serve and not tried_again:
                    again = self._place.connect_again()  # the warm server died before it served
                tried_again = True
                if again:
                    channel = again
                    _send(channel, self._request)
                else:
                    self._place.end(self._supervisor, self._run)
                    self._report(RunEnded(Reason.LOST, code=1, left=0))
        channel.close()

    def _overdue(self) -> float:
        """The time by which the supervisor must have ended the run, even on a busy machine."""
        limit = self._request.limit or math.inf
        if self._request.patient:
            limit += MAX_EXTENSION * limit
        return time.monotonic() + limit + OVERDUE_S

    def _exceeds_memory(self) -> bool:
        """Whether the run takes too much memory, measured a few times a second."""
        if time.monotonic() < self._memory_checked + POLL_S:
            return False
        self._memory_checked = time.monotonic()
        return self._place.too_large

    def _report(self, event: Event) -> None:
        if isinstance(event, SupervisorStarted):
            self._supervisor = event
        self._run.take(event)
        self._watch(self._run, event)

    def _read_metrics(self) -> None:
        if rows := self._metrics.new_rows():
            self._report(Logged(rows))


def _events(supervisor: Channel) -> list[Event]:
    ready = select.select([supervisor], [], [], POLL_S)[0]
    return supervisor.receive() if ready else []


def _send(supervisor: Channel, message: Message) -> None:
    with contextlib.suppress(OSError):  # the other end is gone; the next read will report it
        supervisor.send(message)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
