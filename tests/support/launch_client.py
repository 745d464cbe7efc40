"""The client of the launches in tests: a separate process in place of a learner's kernel.

It reads requests from standard input, one line of JSON per request, and writes the outcome of each
to standard output. `support.launching.Client` is the test's side.
"""

import io
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from course.core import CourseError, Interrupted
from course.launch import Event, Note, RankStarted, Run, connect, launch
from course.notebook import Live

FORK_S = 60.0  # how long a fork of the client lives, unless a test ends it


def serve() -> None:
    """Answer requests until standard input ends."""
    folder = os.getcwd()
    tempfile.gettempdir()  # cached now, while the folder exists
    for request in requests():
        if "command" in request:
            answer = run(request, folder)
        elif "warm" in request:
            connect.warm_up()
            answer = {}
        elif "fork" in request:
            answer = {"pid": fork()}
        else:
            answer = usage()
        print(json.dumps(answer), flush=True)


def requests() -> Iterator[dict]:
    """The requests, one per line."""
    for line in sys.stdin:
        yield json.loads(line)


def fork() -> int:
    """Fork a child that holds all the client's descriptors, as a library's worker does."""
    pid = os.fork()
    if pid == 0:
        time.sleep(FORK_S)
        os._exit(0)
    return pid


def usage() -> dict:
    """The client's use of memory, files and children, which a leak would increase."""
    process = psutil.Process()
    return {
        "rss": process.memory_info().rss,
        "files": process.num_fds(),
        "children": len(process.children()),
    }


def run(request: dict, folder: str) -> dict:
    """Launch, and return everything that a learner can see of the run."""
    shown, runs = io.StringIO(), []
    live = Live(request["limit"], out=shown)

    def watch(run: Run, event: Event) -> None:
        runs[:] = [run]
        if not (isinstance(event, Note) and event.once):  # about this machine, not about the run
            live(run, event)
        if isinstance(event, RankStarted):
            Path(folder, "started.json").write_text(
                json.dumps({rank: pid for rank, (pid, _) in run.processes.items()})
            )

    os.chdir(request["cwd"])
    answer = {"interrupted": False, "refused": ""}
    try:
        launch(request["command"], watch, request["limit"], request["env"])
    except Interrupted:
        answer["interrupted"] = True
    except CourseError as error:
        answer["refused"] = str(error)
    return answer | (as_dict(runs[0]) if runs else {}) | {"shown": shown.getvalue()}


def as_dict(run: Run) -> dict:
    """A run as JSON."""
    ranks = [None, *sorted(run.processes)]
    streams = {
        stream: {json.dumps(rank): run.text(rank, stream) for rank in ranks}
        for stream in ("stdout", "stderr")
    }
    return streams | {
        "ok": run.ok,
        "reason": run.reason,
        "codes": run.exit_codes,
        "launcher_code": run.launcher_code,
        "first_failed": run.first_failed,
        "left": run.left_behind,
        "lines": len(run.lines),
        "rows": run.rows,
        "wall_s": run.wall_s,
        "log_dir": str(run.log_dir),
    }


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    serve()
