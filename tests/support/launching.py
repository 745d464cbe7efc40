"""Launch from processes of their own, so that tests can interrupt, stop and kill what a learner's kernel would be.

Run as a program, this file is such a client: it reads requests (JSON lines) and answers with what became of each run.
Every process that descends from a client carries the client's mark in its environment, which is how orphans are found.
"""

import contextlib
import io
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

MARK = "COURSE_TEST_MARK"
GONE_S = 5.0  # within which the last process of a run must be gone after a fault
PATIENCE_S = 60.0  # for anything to happen that has no bound of its own: cores may be shared

# What most scripts of the tests begin with: `ready()` tells the test that this rank has come so far.
PREAMBLE = """
import os, signal, sys, time
from pathlib import Path
rank = int(os.environ.get("RANK", 0))
def ready():
    Path(sys.argv[1], f"ready{rank}").touch()
"""
HEALTHY = PREAMBLE + "ready()\nwhile True: time.sleep(0.05)\n"
HUNG = (
    PREAMBLE
    + """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
ready()
if rank == 0:
    dist.all_reduce(torch.ones(4))  # rank 1 never comes
while True: time.sleep(0.05)
"""
)


def runs(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def marked(mark: str) -> dict[int, psutil.Process]:
    """The living processes that carry the mark, by process id."""
    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found[process.pid] = process
    return found


def until(
    condition: Callable[[], object], within: float = PATIENCE_S, every: float = 0.02
) -> float:
    """Wait until the condition holds; return the seconds that took. Fails the test after `within` seconds."""
    start = time.monotonic()
    while not condition():
        waited = time.monotonic() - start
        assert waited < within, f"after {waited:.1f} s still not so: {condition}"
        time.sleep(every)
    return time.monotonic() - start


class Client:
    """A process that launches as a kernel does; `warm` says whether it keeps a warm process."""

    def __init__(self, folder: Path, warm: bool) -> None:
        self.folder, self.mark, self.warm = folder, uuid.uuid4().hex, warm
        folder.mkdir(parents=True, exist_ok=True)
        self.temporary = folder / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self._noise = (folder / "client.err").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            env=clean_environment() | {MARK: self.mark, "TMPDIR": str(self.temporary)},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._noise,
            start_new_session=True,
        )
        self.own = {self.process.pid}
        if warm:
            self.warm_up()

    def warm_up(self) -> None:
        """Keep a warm process, and wait until it has imported everything and can serve."""
        self.ask(warm=True)
        self.script("probe", "import sys; print('course.models' in sys.modules)")
        until(lambda: self.run("python", "probe.py")["stdout"].get(0) == "True", every=0.5)
        until(
            lambda: len(marked(self.mark)) == 3
        )  # the client and two generations; the probe's processes are gone
        self.own = set(marked(self.mark))

    @property
    def noise(self) -> str:
        """What the client's processes wrote where nobody looks: a kernel's own standard error."""
        return Path(self._noise.name).read_text()

    def script(self, name: str, source: str, folder: str = ".") -> Path:
        """Write a script below the client's folder."""
        path = self.folder / folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source).lstrip("\n"))
        return path

    def start(
        self,
        *words: str,
        limit: float = PATIENCE_S,
        env: dict | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Begin a run; `result` waits for its end."""
        self._send(words=words, limit=limit, env=env or {}, cwd=str(cwd or self.folder))

    def run(self, *words: str, **settings: object) -> dict:
        """One run from start to end."""
        self.start(*words, **settings)
        return self.result()

    def ranks(self, source: str, *args: str, count: int = 2, **settings: object) -> dict:
        """Run a script on ranks, from start to end."""
        self.script("script", source)
        return self.run(*torchrun(count), "script.py", *args, **settings)

    def hold(self, source: str, count: int = 2, **settings: object) -> None:
        """Start ranks that run until something ends them, and wait until each says that it is ready."""
        for file in self.folder.glob("ready*"):
            file.unlink()
        self.script("script", source)
        self.start(*torchrun(count), "script.py", str(self.folder), **settings)
        until(lambda: len(list(self.folder.glob("ready*"))) == count)
        time.sleep(0.2)  # the last to say so is now in the call that follows

    def ask(self, **request: object) -> dict:
        """Send one request and wait for its answer."""
        self._send(**request)
        return self.result()

    def _send(self, **request: object) -> None:
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def result(self, within: float = PATIENCE_S) -> dict:
        """The answer to the last request."""
        assert select.select([self.process.stdout], [], [], within)[0], (
            f"no answer within {within} s\n{self.noise}"
        )
        line = self.process.stdout.readline()
        assert line, f"the client has ended\n{self.noise}"
        return keyed_by_rank(json.loads(line))

    def others(self) -> dict[int, psutil.Process]:
        """Living processes of the client's runs: all with its mark but the client and its warm processes."""
        return {pid: process for pid, process in marked(self.mark).items() if pid not in self.own}

    def gone(self, within: float = GONE_S) -> float:
        """Wait until no process of any run is left; return the seconds that took."""
        return until(lambda: not self.others(), within)

    def rank(self, number: int) -> psutil.Process:
        """A living rank of the run that is going on."""
        created = json.loads((self.folder / "started.json").read_text())
        return psutil.Process(created[str(number)])

    def supervisor(self) -> psutil.Process:
        """The supervisor of the run that is going on."""
        return self.rank(0).parent()

    def launcher(self) -> psutil.Process:
        """Its launcher: the child of the supervisor that is no rank."""
        ranks = json.loads((self.folder / "started.json").read_text()).values()
        (launcher,) = (child for child in self.supervisor().children() if child.pid not in ranks)
        return launcher

    def close(self) -> None:
        """End the client as a kernel ends, and see that nothing of it is left."""
        if self.process.poll() is None:
            self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.own = set()
        self.gone()
        self._noise.close()


def clean_environment() -> dict[str, str]:
    """This process's environment without what a test runner or another launcher has left in it."""
    mine = ("PYTEST", "COURSE_", "RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "OMP_NUM_THREADS")
    return {name: value for name, value in os.environ.items() if not name.startswith(mine)}


def torchrun(count: int = 2) -> tuple[str, ...]:
    """The beginning of a torchrun command for `count` ranks of this machine."""
    return ("torchrun", "--standalone", "--nproc-per-node", str(count))


def keyed_by_rank(answer: dict) -> dict:
    """JSON's string keys back to ranks; the launcher's is None."""
    for name in ("codes", "stdout", "stderr"):
        answer[name] = {
            None if key == "null" else int(key): value
            for key, value in answer.get(name, {}).items()
        }
    return answer


# -- the client's side ------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer requests until standard input ends."""
    from course.launch import connect

    folder = os.getcwd()
    tempfile.gettempdir()  # looked for once, while it is there
    for request in requests():
        if "words" in request:
            answer = run(request, folder)
        elif "warm" in request:
            connect.warm_up()
            answer = {}
        elif "fork" in request:
            answer = {"pid": fork()}
        else:
            answer = vitals()
        print(json.dumps(answer), flush=True)


def requests() -> Iterator[dict]:
    """One request a line."""
    for line in sys.stdin:
        yield json.loads(line)


def fork() -> int:
    """A child that holds every descriptor of the client, as a worker that a library has forked."""
    pid = os.fork()
    if pid == 0:
        time.sleep(PATIENCE_S)
        os._exit(0)
    return pid


def vitals() -> dict:
    """What a leak in the client would make grow."""
    process = psutil.Process()
    return {
        "rss": process.memory_info().rss,
        "files": process.num_fds(),
        "children": len(process.children()),
    }


def run(request: dict, folder: str) -> dict:
    """Launch, and tell all that a learner can see of the run."""
    from course.core.errors import CourseError, Interrupted
    from course.launch.client import launch
    from course.notebook.live import Live

    shown, runs = io.StringIO(), []
    live = Live(request["limit"], out=shown)

    def watch(run: object, event: dict) -> None:
        runs[:] = [run]
        live(run, event)
        if event["event"] == "started":
            Path(folder, "started.json").write_text(
                json.dumps({rank: pid for rank, (pid, _) in run.processes.items()})
            )

    os.chdir(request["cwd"])
    answer = {"interrupted": False, "refused": ""}
    try:
        launch(request["words"], watch, request["limit"], request["env"])
    except Interrupted:
        answer["interrupted"] = True
    except CourseError as error:
        answer["refused"] = str(error)
    return answer | (told(runs[0]) if runs else {}) | {"shown": shown.getvalue()}


def told(run: object) -> dict:
    """A run as JSON."""
    everyone = [None, *sorted(run.processes)]
    streams = {
        stream: {json.dumps(rank): run.text(rank, stream) for rank in everyone}
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
