"""In the client: reach a supervisor for a run.

It is forked from the warm server if there is one; otherwise it is a new process.
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

LONGEST = 80  # bytes of the temporary folder's name; a socket's may have 107 in all (unix(7))
SOCKET = "COURSE_WARM"  # names the warm server's socket; processes started from a notebook find it


class WarmHandle:
    """A warm server, which ends when this process does: the process holds its stdin.

    `within` is the command that it runs in, `env` its environment.
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
        # A server within another command must not find a terminal or a file of ours.
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
        """Whether it can serve."""
        return self._process.poll() is None

    def holds_more(self, most: int) -> bool:
        """Whether it and its processes together hold more than this many bytes of memory."""
        return process_tree.hold_more(self._process.pid, most)

    def connect(self) -> Channel:
        """A channel to a new supervisor; raises `OSError` if the server does not answer."""
        return _connect(self.path)

    def end(self) -> None:
        """End it; if it runs within another command, that ends all that runs below it."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self.remove()

    def remove(self) -> None:
        """Remove its folder, which an ended server may have left behind."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _short_folder() -> str | None:
    """Where to make the folder of a socket: /tmp if the usual place has too long a name."""
    return "/tmp" if len(os.fsencode(tempfile.gettempdir())) > LONGEST else None


_warm: WarmHandle | None = None


def warm_ranks_promised() -> bool:
    """Whether ranks of this process start warm, now or once the server has imported all."""
    return os.path.exists(os.environ.get(SOCKET, ""))


def warm_up() -> None:
    """Start the warm server if its forks are safe here and none is alive.

    A warm server that a parent of this process has started will do. If none can be started, a
    sentence says so, and ranks are new processes.
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
                "Each run will start some seconds later than it could, because the process that "
                f"keeps the libraries in memory cannot be started: {error.strerror or error}.",
                file=sys.stderr,
            )
        else:
            os.environ[SOCKET] = _warm.path


def to_supervisor() -> Channel:
    """A channel to a new supervisor, warm if the warm server answers."""
    path = os.environ.get(SOCKET)
    if path and _warm is not None and not _warm.alive:
        warm_up()
        path = os.environ.get(SOCKET)
    if path:
        with contextlib.suppress(OSError):
            return _connect(path)
    return to_cold_supervisor()


def _connect(path: str) -> Channel:
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return Channel(sock)


def to_cold_supervisor() -> Channel:
    """A channel to a supervisor that is a new process, whose ranks are new interpreters."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = interpreter.command("supervisor")
        subprocess.Popen(command, stdin=theirs.fileno(), start_new_session=True)
    return Channel(ours)
