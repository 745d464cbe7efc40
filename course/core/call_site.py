"""Where a thread is, read from the frames of its stack."""

import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course.core import user_files

FRAME = re.compile(r'\s+File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')
OUTSIDE = "is outside the script"  # for a thread without a frame in the script
COMMENT = re.compile(r"\s{2,}#.*")  # after a line of code
# These calls need only one partner, not all ranks.
POINT_TO_POINT = {
    "send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list",
    "wait",
}  # fmt: skip

Frame = tuple[str, int, str]  # the file, the line and the function


@dataclass(frozen=True)
class CallSite:
    """A thread is at `line` of `file`; `thread` is its name, "" for the main thread.

    `call` is the call in which it waits: a collective, "backward" or "forward" (both DDP's),
    "wait", or "" for none. Without a call, `doing` describes what the thread does. If the file is
    one that the course gives, `within` has the names of its functions, innermost first. The text of
    the line is `shown` only where it may be read.
    """

    call: str
    file: str
    line: int
    thread: str = ""
    doing: str = ""
    within: tuple[str, ...] = ()
    shown: bool = True

    @property
    def at(self) -> str:
        """The place in short form, such as ``train.py:30``."""
        return f"{Path(self.file).name}:{self.line}"

    @property
    def source(self) -> str:
        """The text of the line, without its comment."""
        linecache.checkcache(self.file)  # it may have been rewritten since the last run
        return COMMENT.sub("", linecache.getline(self.file, self.line)).strip()

    @property
    def brief(self) -> str:
        """What the thread does and where, without the text of the line."""
        within = f" (in {', called by '.join(self.within)})" if self.within else ""
        return (
            f"{f'waits in {self.call}' if self.call else self.doing or 'is'} at {self.at}{within}"
        )

    def __str__(self) -> str:
        return f"{self.brief}   {self.source if self.shown else ''}".rstrip()


def frames(block: str) -> list[Frame]:
    """The frames that Python's fault handler wrote for one thread, innermost first."""
    matches = [FRAME.match(line) for line in block.splitlines()]
    return [(match["file"], int(match["line"]), match["function"]) for match in matches if match]


def innermost_call(stack: Sequence[Frame]) -> tuple[str, int]:
    """The call in which the user's code waits, and the number of frames deeper than that code.

    The call has a name as in `CallSite`. If no frame is in the user's code, all frames count.
    """
    call = ""
    for depth, (file, _, function) in enumerate(stack):
        if file.endswith("torch/distributed/distributed_c10d.py"):
            call = function  # the outermost wins: it is what the script called
        elif file.endswith("torch/distributed/_functional_collectives.py"):
            call = call or function
        elif file.endswith("torch/autograd/graph.py") and function == "_engine_run_backward":
            call = "backward"
        elif file.endswith("torch/nn/parallel/distributed.py") and function == "_sync_buffers":
            call = "forward"  # DDP's, which first sends rank 0's buffers
        elif user_files.is_users(file):
            return call, depth
    return call, len(stack)
