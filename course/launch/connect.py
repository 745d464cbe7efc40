"""Reach a supervisor for a run: one forked from the warm process where there is one, else a new process."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from course.launch import channel

SOCKET = (
    "COURSE_WARM"  # names the warm process's socket; processes started from a notebook find it here
)
# Without the current folder on `sys.path`, where a file of the learner's could stand in for a library.
START = "import sys; sys.path.pop(0); from course.launch.{module} import main; main()"

# In the warm process's environment while it imports libraries, so that none starts a thread: a process with threads
# cannot be forked safely. Nor may CUDA be touched: the check for GPUs goes through NVML.
SINGLE_THREADED = {
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
}


class WarmProcess:
    """The warm process of this kernel, which ends when the kernel does: the kernel holds its standard input."""

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="course-"))  # only this user may enter
        self.path = str(folder / "warm")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path)
            listener.listen()
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-u",
                    "-c",
                    START.format(module="warm_server"),
                    str(listener.fileno()),
                ],
                env=os.environ | SINGLE_THREADED,
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,  # an interrupt of the kernel's process group must not reach it
            )

    @property
    def alive(self) -> bool:
        """Whether it can serve."""
        return self._process.poll() is None


_warm: WarmProcess | None = None


def warm_up() -> None:
    """Start the warm process if this system can fork one safely (Linux) and none is alive."""
    global _warm
    if sys.platform == "linux" and (_warm is None or not _warm.alive):
        if _warm:
            shutil.rmtree(os.path.dirname(_warm.path), ignore_errors=True)
        _warm = WarmProcess()
        os.environ[SOCKET] = _warm.path


def to_supervisor() -> channel.Wire:
    """A wire to a new supervisor, warm if the warm process answers."""
    path = os.environ.get(SOCKET)
    if path and _warm is not None and not _warm.alive:
        warm_up()
        path = os.environ[SOCKET]
    if path:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(path)
        except OSError:
            sock.close()
        else:
            return channel.Wire(sock)
    return to_cold_supervisor()


def to_cold_supervisor() -> channel.Wire:
    """A wire to a supervisor that is a new process, whose ranks are new interpreters."""
    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.Popen(
            [sys.executable, "-u", "-c", START.format(module="supervisor")],
            stdin=theirs,
            start_new_session=True,
        )
    return channel.Wire(ours)
