"""Start a command as the terminal would, and have its processes watched.

The command has the terminal's own input and output: nothing is intercepted, copied or coloured.
The processes that it starts write what they observe to a folder.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from course.core import CourseError
from course.diagnostics.watch.process import (
    FOLDER,
    LOOKS_AT,
    PROFILING,
    RANK,
    REPORTS,
    STEPS,
    WORLD,
)
from course.launch import process_tree

ENTRY = Path(__file__).with_name("entry")
POLL_S = 0.5  # seconds between two looks at what the processes have written
GRACE_S = 5.0  # seconds for the command to end by itself after an interrupt
PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGQUIT)


def environment(
    folder: Path,
    steps: int = 0,
    rank: tuple[int, int] | None = None,
    reports: Path | None = None,
    looks_at: str = PROFILING,
) -> dict[str, str]:
    """The environment variables by which every Python process of a command is watched.

    Each process writes to `folder`. With `steps`, the package `looks_at` also records that many
    steps of each rank, and writes its reports to `reports`, by default to `folder` as well. If the
    command is a single rank, `rank` has its number and the number of all ranks.
    """
    path = os.environ.get("PYTHONPATH")
    variables = {
        "PYTHONPATH": os.pathsep.join([str(ENTRY), *([path] if path else [])]),
        FOLDER: str(folder.resolve()),
    }
    if steps:
        variables |= {STEPS: str(steps), REPORTS: str((reports or folder).resolve())}
        variables[LOOKS_AT] = looks_at
    if rank:
        variables |= {RANK: str(rank[0]), WORLD: str(rank[1])}
    if "TORCH_FR_BUFFER_SIZE" not in os.environ:
        variables["TORCH_FR_BUFFER_SIZE"] = "64"  # torch keeps this many collectives, for a hang
    return variables


class WatchedCommand:
    """A running command, given as the words that one types; `code` is None until it ends."""

    def __init__(self, words: Sequence[str], env: dict[str, str]) -> None:
        process_tree.adopt_orphans()
        self._folder = env[FOLDER]
        self.interrupted = False
        try:
            self._process = subprocess.Popen(list(words), env={**os.environ, **env})
        except OSError as error:
            why, first = f"{error.strerror}.", words[0]
            if isinstance(error, FileNotFoundError) and not (
                os.sep in first or shutil.which(first)
            ):
                why = "it is not on PATH. Is the environment activated?"
            raise CourseError(f"Cannot start {first}: {why}") from None

    @property
    def code(self) -> int | None:
        """The exit code as in a shell: 128 plus the signal for a command that was killed."""
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    def run(self, is_over: Callable[[], bool]) -> None:
        """Wait until the command ends or `is_over` returns true; note an interrupt.

        Ctrl-C reaches every process of the terminal, so it need not be passed on to the command.
        """
        with _signals(self._process):
            try:
                while self.code is None and not is_over():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(POLL_S)
            except KeyboardInterrupt:
                self.interrupted = True

    def end(self) -> None:
        """End the command and everything that it has started."""
        if self.interrupted:
            with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                self._process.wait(GRACE_S)
        self._process.kill()
        end = time.monotonic() + GRACE_S
        while (running := self._running_processes()) and time.monotonic() < end:
            process_tree.kill(running)
            time.sleep(0.02)
        self._process.wait()

    def _running_processes(self) -> list[psutil.Process]:
        """The running processes of the command, recognised by the folder in their environment."""
        processes = []
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if process.environ().get(FOLDER) == self._folder:
                    processes.append(process)
        return processes


@contextmanager
def _signals(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass a scheduler's signals on to the command; SIGTERM also interrupts this process."""

    def pass_on(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    def stop(number: int, _: FrameType | None) -> None:
        process.send_signal(number)
        raise KeyboardInterrupt

    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):  # in a thread of a notebook's kernel
        before |= {number: signal.signal(number, pass_on) for number in PASSED_ON}
        before[signal.SIGTERM] = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def say(text: str) -> None:
    """Print to standard error: standard output is the script's alone."""
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)
