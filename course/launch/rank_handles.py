"""In the launcher: present the supervisor's ranks to torch's agent in the form it expects."""

import select
import subprocess
import sys
import time

from course.launch.channel import Channel
from course.launch.messages import Note, ProcessEnded, ProcessRefused, ProcessStarted, StartRank


class Ranks:
    """Has the supervisor start ranks, and collects their exit codes from it."""

    def __init__(self, supervisor: Channel) -> None:
        self._supervisor = supervisor
        self.started = 0  # how many ranks; a restart counts again
        self.codes: dict[int, int] = {}  # exit code by process id
        self._answers: list[ProcessStarted | ProcessRefused] = []

    def start(
        self,
        argv: tuple[str, ...],
        env: dict[str, str],
        stdout: str | None = None,
        stderr: str | None = None,
    ) -> "Process":
        """Start one rank; `stdout` and `stderr` name files if torchrun redirects the output.

        Raises `OSError` if the program cannot be started.
        """
        rank = int(env.get("RANK", 0))
        if rank > 0:  # set before the libraries are imported: one rank's warnings are enough
            env = {"TRANSFORMERS_VERBOSITY": "error", "DATASETS_VERBOSITY": "error"} | env
        self._supervisor.send(StartRank(rank, list(argv), env, stdout, stderr))
        while not self._answers:
            self.update(timeout=None)
        answer = self._answers.pop()
        if isinstance(answer, ProcessRefused):
            raise OSError(answer.error)
        self.started += 1
        return Process(self, answer.pid)

    def update(self, timeout: float | None) -> None:
        """Read the supervisor's messages; wait at most `timeout` seconds (None: for the first)."""
        if not select.select([self._supervisor], [], [], timeout)[0]:
            return
        try:
            messages = self._supervisor.receive()
        except EOFError:
            sys.exit("the run's supervisor is gone")
        for message in messages:
            if isinstance(message, ProcessEnded):
                self.codes[message.pid] = message.code
            else:
                self._answers.append(message)

    def note(self, text: str, once: bool = False) -> None:
        """Send the learner a note; `once` means that it holds for later launches as well."""
        self._supervisor.send(Note(text, once))


class Process:
    """A rank that the supervisor started: the part of `subprocess.Popen` that the agent uses."""

    def __init__(self, ranks: Ranks, pid: int) -> None:
        self._ranks, self.pid = ranks, pid

    def poll(self) -> int | None:
        """The exit code, or None while the rank runs."""
        self._ranks.update(timeout=0)
        return self._ranks.codes.get(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self._ranks.codes.get(self.pid)) is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            self._ranks.update(left)
        return code
