"""In every process: the messages between the processes of a run: sender, receiver and moment.

    client      StartRun, Stop                   -> supervisor
    supervisor  SupervisorStarted ... RunEnded   -> client
    launcher    StartRank, Note                  -> supervisor
    supervisor  ProcessStarted ... ProcessEnded  -> launcher

To the client a supervisor speaks of ranks, and to the launcher of processes.

A client reaches the warm server by connecting to its socket, which forks a supervisor that answers.
Ranks receive and send no messages: they write to their pipes, which the supervisor reads, and
append what they log to the run's metrics file, which the client reads.
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, get_args

from course.launch.netns import Host

PATIENCE = 5  # a patient limit is put off by at most this many times itself


class Reason(StrEnum):
    """How a run ended; `Run.reason` before that is RUNNING."""

    RUNNING = "running"
    FINISHED = "finished"  # the launcher ended by itself, whatever its exit code
    LIMIT = "limit"  # the time limit came
    STOPPED = "stopped"  # the user interrupted it
    LAUNCHER = "launcher"  # the launcher was killed
    CLIENT = "client"  # it hung up or died; no process is left to hear of it
    LOST = "lost"  # the supervisor was killed; the client says so to itself
    MEMORY = "memory"  # what ran in a sandbox took too much memory; the client says so to itself


# -- client -> supervisor --------------------------------------------------------------------------


@dataclass(frozen=True)
class StartRun:
    """Client to supervisor, first and once: what to run.

    `kind` is torchrun, accelerate or python, `argv` what follows it on the command line, `limit`
    the seconds after which the run is ended, `host` where it runs if not on this machine's network.
    `patient`: of those seconds, the time in which its processes wait for a core does not count.
    `module_folder` is the folder whose modules come first, if that is not the script's own.
    """

    kind: str
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
class Stop:
    """Client to supervisor, when the user interrupts: end the run."""


# -- supervisor -> client, and on to whatever watches the run --------------------------------------


@dataclass(frozen=True)
class SupervisorStarted:
    """Supervisor to client, first: its process id, and when it was created."""

    pid: int
    created: float


@dataclass(frozen=True)
class RankStarted:
    """Supervisor to client, when a rank has started: its process id, and when it was created."""

    rank: int
    pid: int
    created: float


@dataclass(frozen=True)
class Lines:
    """Supervisor to client, as they are written: whole lines of a rank (None: the launcher).

    `skipped` lines before these were not sent; they are on disk alone.
    """

    rank: int | None
    stream: str
    lines: list[str]
    skipped: int = 0


@dataclass(frozen=True)
class Progress:
    """Supervisor to client, a few times a second: a progress bar, a line that has no end yet."""

    rank: int | None
    text: str


@dataclass(frozen=True)
class RankEnded:
    """Supervisor to client, when a rank has ended; a signal is a negative code.

    `unresponsive`: it did not end on request, and the supervisor killed it.
    """

    rank: int
    code: int
    unresponsive: bool = False


@dataclass(frozen=True)
class Note:
    """Launcher to supervisor to client, at any time: something that the learner should know.

    `once`: it holds for every later run as well, and need not be shown again.
    """

    text: str
    once: bool = False


@dataclass(frozen=True)
class RunEnded:
    """Supervisor to client, last: how the run ended, the launcher's exit code, processes left."""

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
    """Launcher to supervisor: start a rank; its output goes to files if these are named."""

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


# what `watch` of a launch is called with
Event = (
    SupervisorStarted | RankStarted | Lines | Progress | RankEnded | Note | RunEnded | Logged | Done
)
Message = StartRun | Stop | Event | StartRank | ProcessStarted | ProcessRefused | ProcessEnded

MESSAGES = {kind.__name__: kind for kind in get_args(Message)}


def encode(message: Message) -> bytes:
    """A message as one line of JSON: its kind, and its fields."""
    return json.dumps([type(message).__name__, asdict(message)]).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message of a line that `encode` made."""
    kind, fields = json.loads(line)
    if kind == "StartRun" and fields["host"]:
        fields["host"] = Host(**fields["host"])
    if kind == "RunEnded":
        fields["reason"] = Reason(fields["reason"])
    return MESSAGES[kind](**fields)
