"""Run a torchrun, accelerate or python command as supervised ranks, and report while it goes on.

`launch` is the one way in which the course starts ranks: the magics, the checks and the tests all come through here.
"""

import contextlib
import os
import re
import select
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from course.core import METRICS_FILE, CourseError, Interrupted
from course.launch import connect
from course.launch.channel import Wire
from course.launch.output import FINISHED
from course.launch.run import MetricsFile, Run

LIMIT_S = 900.0  # a run without a limit of its own
KEPT_RUNS = 20  # folders of finished runs kept in runs/
LOOK_S = 0.25  # how often metrics are looked for
# The fault handlers write the stacks of a rank that is ended at the time limit; colours in tracebacks (a kernel asks
# for them) would hide what `Run.traceback` looks for; torch's profiler need not report that it starts.
DEFAULTS = {"PYTHONFAULTHANDLER": "1", "PYTHON_COLORS": "0", "KINETO_LOG_LEVEL": "6"}
KINDS = ("torchrun", "accelerate", "python")


def launch(
    words: list[str],
    watch: Callable[[Run, dict], None] = lambda run, event: None,
    limit: float = LIMIT_S,
    env: dict[str, str] | None = None,
    host: dict[str, str] | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Run the command `words`, such as ``["torchrun", "--standalone", "--nproc-per-node", "2", "src/ddp.py"]``.

    `watch(run, event)` is called with each event of the supervisor, and with ``{"event": "metrics", "rows": [...]}``.
    After `limit` seconds the run is ended and each rank's stacks are in its lines. `env` adds to the environment.
    `host` (the arguments of `netns.enter`) is where it runs, if not on this machine's own network. An interrupt ends
    the run, then `Interrupted` is raised; so does `stop`, for a launch in a thread, where no interrupt arrives.
    Raises `CourseError` where nothing can be started.
    """
    _preflight(words)
    folder = _new_folder(words)
    run = Run(shlex.join(words), folder)
    metrics = MetricsFile(folder / "metrics.jsonl")
    request = {
        "kind": words[0],
        "argv": words[1:],
        "env": DEFAULTS | os.environ | {METRICS_FILE: str(folder / "metrics.jsonl")} | (env or {}),
        "cwd": os.getcwd(),
        "umask": _umask(),
        "limit": limit,
        "log_dir": str(folder),
        "host": host,
    }
    start = time.monotonic()

    def take(event: dict) -> None:
        run.take(event)
        watch(run, event)

    def look() -> None:
        if rows := metrics.new_rows():
            run.rows += rows
            watch(run, {"event": "metrics", "rows": rows})

    interrupted = _converse(request, run, take, look, stop)
    look()
    run.wall_s = time.monotonic() - start
    if interrupted:
        run.reason = "stopped"
    watch(run, {"event": "done"})
    if interrupted:
        raise Interrupted
    return run


def _converse(
    request: dict,
    run: Run,
    take: Callable[[dict], None],
    look: Callable[[], None],
    stop: threading.Event | None,
) -> bool:
    """Have a supervisor serve the request; say whether the user interrupted it."""
    interrupted, silent = False, True
    supervisor = connect.to_supervisor()
    _send(supervisor, **request)
    while run.reason == "running":
        try:
            for event in _events(supervisor):
                silent = False
                take(event)
            look()
            if stop and stop.is_set() and not interrupted:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            interrupted = True
            _send(supervisor, stop=True)
        except EOFError:
            if silent and not interrupted:  # a warm process that died before it could serve
                silent, supervisor = False, connect.to_cold_supervisor()
                _send(supervisor, **request)
                continue
            _end_lost(run)
            take({"event": "end", "reason": "lost", "code": 1, "left": 0})
    supervisor.close()
    return interrupted


def _events(supervisor: Wire) -> list[dict]:
    ready = select.select([supervisor], [], [], LOOK_S)[0]
    return supervisor.receive() if ready else []


def _send(supervisor: Wire, **message: object) -> None:
    with contextlib.suppress(OSError):  # it is gone, as the next read will say
        supervisor.send(**message)


def _end_lost(run: Run) -> None:
    """End the ranks of a supervisor that was killed (a warm process does this for its own)."""
    for pid, created in run.processes.values():
        try:
            process = psutil.Process(pid)
            if process.create_time() == created:
                for victim in (*process.children(recursive=True), process):
                    victim.kill()
        except psutil.NoSuchProcess:
            pass
    with contextlib.suppress(OSError):
        (run.log_dir / FINISHED).touch()


def _preflight(words: list[str]) -> None:
    if not words or words[0] not in KINDS:
        raise CourseError(
            f"A launch begins with one of {', '.join(KINDS)}; this one begins with {words[:1]}."
        )
    if words[0] == "python":
        script = words[1] if len(words) > 1 else ""
        if script.startswith("-") or not script:
            raise CourseError("%python runs a script: %python src/NAME.py ARGUMENTS.")
        if not Path(script).is_file():
            raise CourseError(
                f"There is no script {script} in {os.getcwd()}: run the cell that writes it, or check the name."
            )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _new_folder(words: list[str]) -> Path:
    """A new folder for the run's logs in runs/, or among the temporary files where that cannot be written."""
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
