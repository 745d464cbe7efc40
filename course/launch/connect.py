"""In the client: connect to a supervisor for a run.

The supervisor is forked from the warm server if there is one; otherwise it is a new process.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from course.launch import forked, interpreter, process_tree
from course.launch.channel import Channel
from course.launch.warm_imports import SINGLE_THREADED

MAX_FOLDER = 80  # bytes of the temporary folder's path; a socket's may have 107 in all (unix(7))
SOCKET = "COURSE_WARM"  # has the path of the server's socket; a notebook's processes inherit it


class WarmHandle:
    """A warm server, which ends when this process does, because the process holds its stdin.

    `within` is a command to run it inside, such as bubblewrap's; `env` is its environment.
    """

    def __init__(self, within: Sequence[str] = (), env: Mapping[str, str] = os.environ) -> None:
        # Only this user may enter such a folder.
        self._folder = Path(tempfile.mkdtemp(prefix="course-", dir=_short_folder()))
        self.path = str(self._folder / "warm")
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(self.path)
                listener.listen()
                self._process = self._start(listener, within, env)
        except OSError:
            self.remove()
            raise

    def _start(
        self, listener: socket.socket, within: Sequence[str], env: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        # A server inside another command must not inherit a terminal or a file of ours.
        output = subprocess.DEVNULL if within else None
        return subprocess.Popen(
            [*within, *interpreter.command("warm_server", str(listener.fileno()))],
            env={**env, **SINGLE_THREADED},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # an interrupt of the kernel's group must not reach it
        )

    @property
    def alive(self) -> bool:
        """Whether the server still runs."""
        return self._process.poll() is None

    def holds_more_than(self, limit: int) -> bool:
        """Whether it and its descendants together hold more than `limit` bytes of memory."""
        return process_tree.holds_more_than(self._process.pid, limit)

    def connect(self) -> Channel:
        """A channel to a new supervisor; raises `OSError` if the server does not answer."""
        return _connect(self.path)

    def end(self) -> None:
        """Kill the server; if it runs inside another command, that ends everything inside."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self.remove()

    def remove(self) -> None:
        """Remove the socket's folder, which a killed server leaves behind."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _short_folder() -> str | None:
    """/tmp if the path of the usual temporary folder is too long for a socket, else None."""
    return "/tmp" if len(os.fsencode(tempfile.gettempdir())) > MAX_FOLDER else None


_warm: WarmHandle | None = None


def warm_ranks_promised() -> bool:
    """Whether ranks of this process start warm, now or once the server has imported everything."""
    return os.path.exists(os.environ.get(SOCKET, ""))


def warm_up() -> None:
    """Start the warm server, if forks are safe here and no server is alive.

    A server that a parent of this process has started will do. If none can be started, this prints
    one sentence about it, and ranks will be new processes.
    """
    global _warm
    if _warm is None and warm_ranks_promised():
        return
    if forked.possible() and (_warm is None or not _warm.alive):
        if _warm:
            _warm.remove()
        try:
            _warm = WarmHandle()
        except OSError as error:
            _warm = None
            os.environ.pop(SOCKET, None)
            print(
                "Each run will take a few seconds longer to start, because the process that keeps "
                f"the libraries in memory cannot be started: {error.strerror or error}.",
                file=sys.stderr,
            )
        else:
            os.environ[SOCKET] = _warm.path


def new_supervisor() -> Channel:
    """A channel to a new supervisor, which is forked if the warm server answers."""
    path = os.environ.get(SOCKET)
    if path and _warm is not None and not _warm.alive:
        warm_up()
        path = os.environ.get(SOCKET)
    if path:
        with contextlib.suppress(OSError):
            return _connect(path)
    return new_cold_supervisor()


def _connect(path: str) -> Channel:
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return Channel(sock)


def new_cold_supervisor() -> Channel:
    """A channel to a supervisor that is a new process, whose ranks are new interpreters."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = interpreter.command("supervisor")
        subprocess.Popen(command, stdin=theirs.fileno(), start_new_session=True)
    return Channel(ours)
