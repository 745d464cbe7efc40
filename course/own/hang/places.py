"""Where a thread stands: the collective that it waits in, and the line of the user's."""

import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course.own.watch.looks import Thread
from course.own.watch.processes import Seen
from course.own.watch.user_files import is_users

FRAME = re.compile(r'\s+File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')
COMMENT = re.compile(r"\s{2,}#.*")  # behind a line of code
FATAL = re.compile(r"^Fatal Python error: (.*)$", re.MULTILINE)
Frame = Sequence  # (file, line, function)
# What a thread does that waits for no rank, by the end of the file and the function's name.
DOING = (
    ("utils/data/dataloader.py", "_try_get_data", "waits for a worker of its DataLoader"),
    ("subprocess.py", "wait", "waits for a program that it started"),
    ("multiprocessing/popen_fork.py", "poll", "waits for a process that it started"),
    ("multiprocessing/connection.py", "wait", "waits for another process"),
    ("queue.py", "get", "waits for a queue"),
    ("threading.py", "join", "waits for another thread"),
    ("threading.py", "wait", "waits for another thread"),
    ("ssl.py", "read", "waits for the network"),
    ("socket.py", "readinto", "waits for the network"),
)


@dataclass(frozen=True)
class Place:
    """Where a thread stands, at `line` of `file`; `thread` is "" for the main one.

    `call` is a collective, "backward" or "forward" (both DDP's), "wait", or "". `doing` says what
    it does if it is in no call.
    """

    call: str
    file: str
    line: int
    thread: str = ""
    doing: str = ""

    @property
    def at(self) -> str:
        """The line, as ``train.py:30``."""
        return f"{Path(self.file).name}:{self.line}"

    @property
    def source(self) -> str:
        """The text of the line."""
        linecache.checkcache(self.file)  # it may have been rewritten since the last run
        return COMMENT.sub("", linecache.getline(self.file, self.line)).strip()

    @property
    def brief(self) -> str:
        """What the thread does, and the line without its text."""
        return f"{f'waits in {self.call}' if self.call else self.doing or 'is'} at {self.at}"

    def __str__(self) -> str:
        return f"{self.brief}   {self.source}".rstrip()


def of(seen: Seen) -> Place | None:
    """Where the main thread of a rank stands; None if it is in no code of the user's."""
    main = seen.look.main_thread
    frames = main.frames if main else []
    if (dump := last_dump(seen)) and (seen.alive is False or not frames):
        frames = dump
    return place(frames)


def others(seen: Seen) -> list[Place]:
    """Where its other threads wait in a collective."""
    found = [(thread, place(thread.frames)) for thread in seen.look.threads[1:]]
    return [
        Place(where.call, where.file, where.line, thread.name)
        for thread, where in found
        if where and where.call
    ]


def place(frames: Sequence[Frame]) -> Place | None:
    """Of a stack, the innermost frame first."""
    call = doing = ""
    for number, (file, line, function) in enumerate(frames):
        if file.endswith("torch/distributed/distributed_c10d.py"):
            call = function  # the outermost wins: it is what the script called
        elif file.endswith("torch/distributed/_functional_collectives.py"):
            call = call or function
        elif file.endswith("torch/autograd/graph.py") and function == "_engine_run_backward":
            call = "backward"
        elif file.endswith("torch/nn/parallel/distributed.py") and function == "_sync_buffers":
            call = "forward"  # DDP's, which first sends rank 0's buffers
        elif is_users(file):
            found = Place(call, file, line, doing=doing)
            if not call and number == 0 and ".wait(" in found.source:
                return Place("wait", file, line)
            if not call and not doing and "sleep(" in found.source and number == 0:
                return Place("", file, line, doing="sleeps")
            return found
        else:
            doing = next((d for end, name, d in DOING if file.endswith(end) and function == name),
                         doing)  # fmt: skip
    return None


def last_dump(seen: Seen) -> list[Frame]:
    """The main thread's frames in the last stacks that the fault handler has written."""
    blocks = re.split(r"\n\s*\n|\n(?=(?:Current thread|Thread) 0x)", seen.stacks)
    named = re.compile(rf"(?:Current thread|Thread) 0x{seen.look.main}\b")
    mine = [block for block in blocks if named.match(block)]
    if not mine:
        return []
    matches = [FRAME.match(line) for line in mine[-1].splitlines()]
    return [(each["file"], int(each["line"]), each["function"]) for each in matches if each]


def fatal(seen: Seen) -> str:
    """The signal that ended a rank, as its fault handler calls it: "Aborted"; "" if none did."""
    found = FATAL.findall(seen.stacks)
    return found[-1] if found else ""


def handled(seen: Seen) -> Thread | None:
    """The main thread, if it waits while it handles an exception."""
    main = seen.look.main_thread
    return main if main and main.error else None
