"""In every process: the messages of a run, with who sends each one, to whom, and when.

    client      StartRun, Interrupt              -> supervisor
    supervisor  SupervisorStarted ... RunEnded   -> client
    launcher    StartRank, Note                  -> supervisor
    supervisor  ProcessStarted ... ProcessEnded  -> launcher

The supervisor's messages to the client are about ranks, and those to the launcher about processes.

A client connects to the warm server's socket, and the server forks a supervisor that answers.
Ranks neither receive nor send messages. They write to their pipes, which the supervisor reads, and
append what they log to the run's metrics file, which the client reads.
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, get_args

from course.core import from_plain
from course.launch.netns import Host


class Reason(StrEnum):
    """How a run ended; `Run.reason` before that is RUNNING."""

    RUNNING = "running"
    FINISHED = "finished"  # the launcher ended by itself, whatever its exit code
    LIMIT = "limit"  # the time limit was reached
    INTERRUPTED = "interrupted"  # by the user, or by the caller of `launch`
    LAUNCHER = "launcher"  # the launcher was killed
    CLIENT = "client"  # the client hung up or died, so nobody reads this
    LOST = "lost"  # the supervisor was killed; the client itself records this
    MEMORY = "memory"  # a sandbox took too much memory; the client itself records this


# -- client -> supervisor --------------------------------------------------------------------------


@dataclass(frozen=True)
class StartRun:
    """Client to supervisor, first and once: what to run.

    `program` is torchrun, accelerate or python, and `argv` the arguments that follow it. `limit` is
    the number of seconds after which the run is ended (0: never); with `patient`, time in which its
    processes wait for a core does not count. `host` is the network to run in, if it is not this
    machine's own. `module_folder` is the folder searched first for modules, if it is not the
    script's.
    """

    program: str
    argv: list[str]
    env: dict[str, str]
    cwd: str
    umask: int
    limit: float
    log_dir: str
    host: Host | None = None
    patient: bool = False
    module_folder: str | None = None


@dataclass(frozen=True)
class Interrupt:
    """Client to supervisor, when the user interrupts: end the run."""


# -- supervisor -> client, and on to whatever watches the run --------------------------------------


@dataclass(frozen=True)
class SupervisorStarted:
    """Supervisor to client, first: its process id and creation time (s since the epoch)."""

    pid: int
    created: float


@dataclass(frozen=True)
class RankStarted:
    """Supervisor to client, when a rank has started: its process id and creation time."""

    rank: int
    pid: int
    created: float


@dataclass(frozen=True)
class Lines:
    """Supervisor to client, as they are written: whole lines of a rank (None: the launcher).

    `skipped` lines before these were not sent; they are only on disk.
    """

    rank: int | None
    stream: str
    lines: list[str]
    skipped: int = 0


@dataclass(frozen=True)
class Progress:
    """Supervisor to client, a few times a second: a progress bar, a line that has not ended yet."""

    rank: int | None
    text: str


@dataclass(frozen=True)
class RankEnded:
    """Supervisor to client, when a rank has ended; a signal is a negative code.

    `unresponsive` means that it did not end on request, and the supervisor killed it.
    """

    rank: int
    code: int
    unresponsive: bool = False


@dataclass(frozen=True)
class Note:
    """Launcher to supervisor to client, at any time: something that the learner should know.

    `once` means that it holds for every later run as well, and need not be shown again.
    """

    text: str
    once: bool = False


@dataclass(frozen=True)
class RunEnded:
    """Supervisor to client, last: how the run ended, and the launcher's exit code.

    `left` counts the processes that outlived the run and had to be killed.
    """

    reason: Reason
    code: int
    left: int


@dataclass(frozen=True)
class Logged:
    """Client to itself, when the ranks have logged more: the new rows of the metrics file."""

    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class Done:
    """Client to itself, after all else: the run is over and its record complete."""


# -- launcher -> supervisor, and back --------------------------------------------------------------


@dataclass(frozen=True)
class StartRank:
    """Launcher to supervisor: start a rank, with its output in files if they are named."""

    rank: int
    argv: list[str]
    env: dict[str, str]
    stdout: str | None = None
    stderr: str | None = None


@dataclass(frozen=True)
class ProcessStarted:
    """Supervisor to launcher, the answer to StartRank: the rank's process id."""

    pid: int


@dataclass(frozen=True)
class ProcessRefused:
    """Supervisor to launcher, the other answer to StartRank: why the program cannot be started."""

    error: str


@dataclass(frozen=True)
class ProcessEnded:
    """Supervisor to launcher, when a rank has ended."""

    pid: int
    code: int


# `launch` calls its `watch` with each of these
Event = (
    SupervisorStarted | RankStarted | Lines | Progress | RankEnded | Note | RunEnded | Logged | Done
)
Message = StartRun | Interrupt | Event | StartRank | ProcessStarted | ProcessRefused | ProcessEnded

MESSAGES = {kind.__name__: kind for kind in get_args(Message)}


def encode(message: Message) -> bytes:
    """A message as one line of JSON: its kind and its fields."""
    return json.dumps([type(message).__name__, asdict(message)]).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message that `encode` has written as this line."""
    kind, fields = json.loads(line)
    return from_plain(MESSAGES[kind], fields)
