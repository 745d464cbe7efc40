"""In the kernel: run a torchrun, accelerate or python command, and report while it goes on.

`launch` is the one way in which the course starts ranks: the magics, the checks and the tests all
come through here.
"""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable

from course.core import METRICS_FILE, Interrupted
from course.launch import connect, preflight, process_tree, run_folder
from course.launch.channel import Channel
from course.launch.messages import Done, Ended, Event, Logged, Message, Reason, Request, Stop
from course.launch.netns import Host
from course.launch.run import Run

LIMIT_S = 900.0  # a run without a limit of its own
LOOK_S = 0.25  # how often metrics are looked for
# The fault handlers write the stacks of a rank that is ended at the time limit; colours in
# tracebacks (a kernel asks for them) would hide what `Run.traceback` looks for; torch's profiler
# need not report that it starts.
DEFAULTS = {"PYTHONFAULTHANDLER": "1", "PYTHON_COLORS": "0", "KINETO_LOG_LEVEL": "6"}

Watch = Callable[[Run, Event], None]


def launch(
    words: list[str],
    watch: Watch = lambda run, event: None,
    limit: float = LIMIT_S,
    env: dict[str, str] | None = None,
    host: Host | None = None,
    stop: threading.Event | None = None,
    patient: bool = False,
) -> Run:
    """Run a command such as ``["torchrun", "--standalone", "src/ddp.py"]``, to its end.

    `watch(run, event)` is called with each event of the run (see `messages`). After `limit`
    seconds the run is ended, and each rank's stacks are in its lines; a `patient` limit does not
    count the time in which the machine was busy with other things. `env` adds to the environment.
    `host` is where it runs, if not on this machine's own network. An interrupt ends the run, then
    `Interrupted` is raised; so does `stop`, for a launch in a thread, where no interrupt arrives.
    Raises `CourseError` where nothing can be started.
    """
    preflight.check(words)
    folder = run_folder.new(words)
    metrics = run_folder.MetricsFile(folder)
    request = Request(
        kind=words[0],
        argv=words[1:],
        env=DEFAULTS | os.environ | {METRICS_FILE: str(metrics.path)} | (env or {}),
        cwd=os.getcwd(),
        umask=_umask(),
        limit=limit,
        log_dir=str(folder),
        host=host,
        patient=patient,
    )
    return _Launch(request, Run(words, folder), metrics, watch, stop).finish()


class _Launch:
    """One launch: has a supervisor serve the request, and takes in what is told of the run."""

    def __init__(
        self,
        request: Request,
        run: Run,
        metrics: run_folder.MetricsFile,
        watch: Watch,
        stop: threading.Event | None,
    ) -> None:
        self._request, self._run, self._metrics = request, run, metrics
        self._watch, self._stop = watch, stop
        self._interrupted = False

    def finish(self) -> Run:
        """From the request to the end of the run."""
        start = time.monotonic()
        self._converse()
        self._look()
        self._run.wall_s = time.monotonic() - start
        if self._interrupted:
            self._run.reason = Reason.STOPPED
        self._take(Done())
        if self._interrupted:
            raise Interrupted
        return self._run

    def _converse(self) -> None:
        supervisor, silent = connect.to_supervisor(), True
        _send(supervisor, self._request)
        while self._run.reason == Reason.RUNNING:
            try:
                for event in _events(supervisor):
                    silent = False
                    self._take(event)
                self._look()
                if self._stop and self._stop.is_set() and not self._interrupted:
                    raise KeyboardInterrupt
            except KeyboardInterrupt:
                self._interrupted = True
                _send(supervisor, Stop())
            except EOFError:
                if silent and not self._interrupted:  # a warm server died before it could serve
                    silent, supervisor = False, connect.to_cold_supervisor()
                    _send(supervisor, self._request)
                else:
                    _end_lost(self._run)
                    self._take(Ended(Reason.LOST, code=1, left=0))
        supervisor.close()

    def _take(self, event: Event) -> None:
        self._run.take(event)
        self._watch(self._run, event)

    def _look(self) -> None:
        if rows := self._metrics.new_rows():
            self._take(Logged(rows))


def _events(supervisor: Channel) -> list[Event]:
    ready = select.select([supervisor], [], [], LOOK_S)[0]
    return supervisor.receive() if ready else []


def _send(supervisor: Channel, message: Message) -> None:
    with contextlib.suppress(OSError):  # it is gone, as the next read will say
        supervisor.send(message)


def _end_lost(run: Run) -> None:
    """End the ranks of a supervisor that was killed (a warm server does this for its own)."""
    for pid, created in run.processes.values():
        if process := process_tree.still_the_same(pid, created):
            process_tree.kill_tree(process)
    run_folder.mark_finished(run.log_dir)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
