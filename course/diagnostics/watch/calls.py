"""On a rank: record the last collectives and backward passes in a file that outlives the process.

The file is mapped into memory (mmap), so the record survives even SIGKILL. We replace a helper that
torch's own function calls first, and record the call there. So neither a traceback nor the stack of
a waiting rank contains a frame of ours.
"""

import mmap
import os
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from course.core import call_site, user_files

SLOTS, SLOT = 256, 224  # the number of calls that are kept, and the bytes of each
HEAD = struct.Struct("<QQQ")  # calls so far, backward passes so far, bytes of DDP's gradients
C10D = os.path.join("torch", "distributed", "distributed_c10d.py")
# These names are not taken from `core.dist_names`, because that imports torch. This module is
# loaded before the script's first line, and a script may set variables that torch reads on import.
NAMES = frozenset((
    "all_reduce", "all_reduce_coalesced", "reduce", "broadcast", "barrier", "monitored_barrier",
    "all_gather", "all_gather_single", "all_gather_into_tensor", "all_gather_coalesced", "gather",
    "scatter", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "all_to_all",
    "all_to_all_single", "all_gather_object", "gather_object", "broadcast_object_list",
    "scatter_object_list", "isend", "irecv", "send", "recv", "send_object_list", "recv_object_list",
    "_all_gather_base", "_reduce_scatter_base",
))  # fmt: skip
DEFAULT = "0"  # torch's name for the group of all ranks
TENSOR_ARGUMENTS = (
    "tensor", "input", "input_tensor", "tensor_list", "input_list", "tensors", "output",
)  # fmt: skip


@dataclass(frozen=True)
class CollectiveCall:
    """One recorded call, usually of a collective.

    `number` counts all calls of the process, and `order` only the collectives of the default
    group; it is 0 for any other call. `passes` backward passes had begun before the call. `nbytes`
    and `shape` describe the tensor, and are 0 and "" if there is none. `group` is torch's name for
    the group, and `where` the user's line.
    """

    number: int
    order: int
    passes: int
    name: str
    nbytes: int
    shape: str
    group: str
    thread: str
    where: str


class Calls:
    """Records the calls of this process in a file."""

    def __init__(self, path: Path) -> None:
        size = HEAD.size + SLOTS * SLOT
        with open(path, "w+b") as file:
            file.truncate(size)
            self._map = mmap.mmap(file.fileno(), size)
        self.process = os.getpid()
        self.number = self.passes = self.gradients = self._order = 0
        self._kinds: dict[CodeType, str] = {}

    def install(self) -> None:
        """Begin to record; torch must have been imported."""
        from torch import autograd
        from torch.distributed import distributed_c10d
        from torch.nn.parallel import DistributedDataParallel

        _call_before(distributed_c10d, "_rank_not_in_group", self._on_call)
        _call_before(autograd, "_tensor_or_tensors_to_tuple", self._on_backward)
        _call_before(DistributedDataParallel, "_build_params_for_reducer", self._on_wrap)

    def _on_call(self, *_: object) -> None:
        """Record the helper's caller if it is a collective; `get_rank` calls the helper as well."""
        frame = sys._getframe(2)
        if frame.f_code.co_name not in NAMES or os.getpid() != self.process:
            return
        where = self._where(frame.f_back)
        if where is None:  # a collective that another one is made of
            return
        name, arguments = frame.f_code.co_name, frame.f_locals
        given = (arguments.get(key) for key in TENSOR_ARGUMENTS)
        tensor: Any = next((value for value in given if value is not None), None)
        if isinstance(tensor, (list, tuple)):
            tensor = tensor[0] if tensor else None
        nbytes, shape = 0, ""
        if hasattr(tensor, "numel"):
            nbytes = tensor.numel() * tensor.element_size()
            shape = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
        group = getattr(arguments.get("group"), "group_name", DEFAULT)
        self.number += 1
        is_ordered = group == DEFAULT and name not in call_site.POINT_TO_POINT
        self._order += is_ordered
        thread = threading.current_thread()
        named = "" if thread is threading.main_thread() else thread.name
        line = "\t".join(
            (str(self.number), str(self._order * is_ordered), str(self.passes), name, str(nbytes),
             shape[:60], group[:24], named[:40], where[-70:])
        )  # fmt: skip
        start = HEAD.size + (self.number % SLOTS) * SLOT
        self._map[start : start + SLOT] = line.encode()[:SLOT].ljust(SLOT, b"\0")
        self._count()

    def _on_wrap(self, ddp: Any, *_: object) -> None:
        """Note the size of the gradients of the first module that DDP wraps."""
        if not self.gradients and os.getpid() == self.process:
            trained = [weight for weight in ddp.module.parameters() if weight.requires_grad]
            self.gradients = sum(weight.numel() * weight.element_size() for weight in trained)
            self._count()

    def _count(self) -> None:
        HEAD.pack_into(self._map, 0, self.number, self.passes, self.gradients)

    def _on_backward(self, *_: object) -> None:
        if sys._getframe(2).f_code.co_name == "backward" and os.getpid() == self.process:
            self.passes += 1
            self._count()

    def _where(self, frame: FrameType | None) -> str | None:
        """The user's innermost line, "" if there is none; None within another collective."""
        while frame is not None:
            code = frame.f_code
            kind = self._kinds.get(code)
            if kind is None:
                kind = self._kinds[code] = _kind(code)
            if kind == "collective":
                return None
            if kind:
                return f"{kind}:{frame.f_lineno}"
            frame = frame.f_back
        return ""


def _kind(code: CodeType) -> str:
    """The name of a user's file; "collective" for one of torch's collectives; "" for other code."""
    file = code.co_filename
    if file.endswith(C10D):
        return "collective" if code.co_name in NAMES else ""
    return os.path.basename(file) if user_files.is_users(file) else ""


def _call_before(home: object, name: str, ours: Callable[..., None]) -> None:
    """Call `ours`, with the same arguments, before the function `name` of `home`.

    That function must neither raise nor wait, or our frame would be visible. If this version of
    torch has no such function, nothing happens.
    """
    real = getattr(home, name, None)
    if real is None:
        return

    def call(*args: object, **kwargs: object) -> object:
        with suppress(Exception):  # a failure of ours never reaches the script
            ours(*args)
        return real(*args, **kwargs)

    setattr(home, name, call)


@dataclass
class CallRecord:
    """The record that `Calls` has written: the last calls, the oldest first, and the counts."""

    calls: list[CollectiveCall] = field(default_factory=list)
    count: int = 0
    passes: int = 0
    gradients: int = 0  # bytes of the gradients that DDP averages


def read(path: Path) -> CallRecord:
    """Read the record of a process; an empty one if it has written none."""
    try:
        data = path.read_bytes()
    except OSError:
        return CallRecord()
    if len(data) < HEAD.size:
        return CallRecord()
    slots = [data[HEAD.size + n * SLOT :][:SLOT].rstrip(b"\0") for n in range(SLOTS)]
    records = [_call(slot.decode(errors="replace")) for slot in slots if slot]
    calls = sorted(filter(None, records), key=lambda call: call.number)
    return CallRecord(calls, *HEAD.unpack_from(data))


def _call(line: str) -> CollectiveCall | None:
    parts = line.split("\t")
    if len(parts) != 9:  # the process ended while it wrote this call
        return None
    numbers = [int(part) for part in (*parts[:3], parts[4])]
    number, order, passes, nbytes = numbers
    return CollectiveCall(number, order, passes, parts[3], nbytes, *parts[5:])
