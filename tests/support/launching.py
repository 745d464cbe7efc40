"""Launches from a separate process, so that tests can interrupt, stop and kill the client.

The client stands in for a learner's kernel, and runs `launch_client`. All its descendants carry its
mark in their environment, so that orphans can be found.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import textwrap
import time
import uuid
from pathlib import Path

import psutil
import pytest

from course.launch import connect
from support import evidence
from support.patience import PATIENCE_S, until

MARK = "COURSE_TEST_MARK"
PROGRAM = Path(__file__).with_name("launch_client.py")
# With a warm server, as in a notebook, and without one. Without it, each rank imports torch itself,
# which takes twenty times as long, so only a sample of these tests runs each day.
WAYS = ("warm", pytest.param("cold", marks=pytest.mark.sampled))

# For a test whose outcome does not depend on whether there is a warm server.
once = pytest.mark.parametrize("client", ["warm"], indirect=True)


def marked(mark: str) -> dict[int, psutil.Process]:
    """The living processes that carry the mark, by process id."""
    members = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                members[process.pid] = process
    return members


class Client:
    """A process that launches as a kernel does, and keeps a warm server if `warm`."""

    def __init__(self, folder: Path, warm: bool) -> None:
        self.folder, self.mark, self.warm = folder, uuid.uuid4().hex, warm
        folder.mkdir(parents=True, exist_ok=True)
        self.temporary = folder / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self._noise = (folder / "client.err").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM],
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
        """Keep a warm server, and wait until it has imported everything and can serve."""
        self.ask(warm=True)
        self.script("probe", "import sys; print('course.models' in sys.modules)")
        until(lambda: self.run("python", "probe.py")["stdout"].get(0) == "True", every=0.5)
        # The client and the server's two generations; the probe's processes are gone.
        until(lambda: len(marked(self.mark)) == 3)
        self.own = set(marked(self.mark))

    @property
    def noise(self) -> str:
        """What the client's processes wrote to the kernel's own standard error, shown nowhere."""
        return Path(self._noise.name).read_text()

    def script(self, name: str, source: str, folder: str = ".") -> Path:
        """Write a script below the client's folder."""
        path = self.folder / folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source).lstrip("\n"))
        return path

    def start(
        self,
        *command: str,
        limit: float = PATIENCE_S,
        env: dict | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Begin a run; `result` waits for its end."""
        self._send(command=command, limit=limit, env=env or {}, cwd=str(cwd or self.folder))

    def run(self, *command: str, **settings: object) -> dict:
        """One run from start to end."""
        self.start(*command, **settings)
        return self.result()

    def ranks(self, source: str, *args: str, count: int = 2, **settings: object) -> dict:
        """Run a script on ranks, from start to end."""
        self.script("script", source)
        return self.run(*torchrun(count), "script.py", *args, **settings)

    def hold(self, source: str, count: int = 2, **settings: object) -> None:
        """Start ranks that run until something ends them; wait until each says that it is ready."""
        for file in self.folder.glob("ready*"):
            file.unlink()
        self.script("script", source)
        self.start(*torchrun(count), "script.py", str(self.folder), **settings)
        until(lambda: len(list(self.folder.glob("ready*"))) == count)
        time.sleep(0.2)  # by now the last one is in the call after `ready()`

    def ask(self, **request: object) -> dict:
        """Send one request and wait for its answer."""
        self._send(**request)
        return self.result()

    def _send(self, **request: object) -> None:
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def result(self) -> dict:
        """The answer to the last request."""
        assert select.select([self.process.stdout], [], [], 2 * PATIENCE_S)[0], (
            f"no answer\n{self.noise}"
        )
        line = self.process.stdout.readline()
        assert line, f"the client has ended\n{self.noise}"
        answer = keyed_by_rank(json.loads(line))
        if "reason" in answer:  # of a run
            evidence.keep("a launch of the client", lambda: _describe(answer))
        return answer

    def others(self) -> dict[int, psutil.Process]:
        """The living processes of the client's runs, without the client and its warm server."""
        return {pid: process for pid, process in marked(self.mark).items() if pid not in self.own}

    def gone(self) -> None:
        """Wait until no process of any run is left."""
        until(lambda: not self.others())

    def rank(self, number: int) -> psutil.Process:
        """A living rank of the current run."""
        created = json.loads((self.folder / "started.json").read_text())
        return psutil.Process(created[str(number)])

    def supervisor(self) -> psutil.Process:
        """The supervisor of the current run."""
        return self.rank(0).parent()

    def launcher(self) -> psutil.Process:
        """The launcher of the current run: the supervisor's child that is not a rank."""
        ranks = json.loads((self.folder / "started.json").read_text()).values()
        (launcher,) = (child for child in self.supervisor().children() if child.pid not in ranks)
        return launcher

    def close(self) -> None:
        """End the client as a kernel ends, and wait until none of its processes is left."""
        if self.process.poll() is None:
            self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.own = set()
        self.gone()
        self._noise.close()


def _describe(answer: dict) -> str:
    """What the client reported about a run."""
    end = f"{answer['reason']}, launcher's exit code {answer['launcher_code']}"
    written = {stream: answer[stream] for stream in ("stdout", "stderr")}
    return evidence.describe_launch(end, answer["codes"], written) + "\nshown:\n" + answer["shown"]


def clean_environment() -> dict[str, str]:
    """This process's environment without the variables of test runners and launchers."""
    unwanted = ("PYTEST", "COURSE_", "RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "OMP_NUM_THREADS")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


def kernel_environment() -> dict[str, str]:
    """The clean environment, in which a kernel finds this process's warm server and starts none.

    A server of its own would import all libraries again, which takes ten seconds of a core.
    """
    connect.warm_up()
    warm = {connect.SOCKET: os.environ[connect.SOCKET]} if connect.SOCKET in os.environ else {}
    return clean_environment() | warm


def torchrun(count: int = 2) -> tuple[str, ...]:
    """The beginning of a torchrun command for `count` ranks of this machine."""
    return ("torchrun", "--standalone", "--nproc-per-node", str(count))


def keyed_by_rank(answer: dict) -> dict:
    """Turn JSON's string keys back into ranks; the launcher's key becomes None."""
    for name in ("codes", "stdout", "stderr"):
        answer[name] = {
            None if key == "null" else int(key): value
            for key, value in answer.get(name, {}).items()
        }
    return answer
