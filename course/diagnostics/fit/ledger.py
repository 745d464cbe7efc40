"""On a rank: record every storage that torch makes, when it is made and freed, and what it is for.

The ledger sees each operation, on fake and on real tensors, so a rehearsal and a real run are
counted by the same rules. What a storage is for is often known only later: a gradient, for example,
is recognized when the optimizer steps. So the ledger records events, to be added up at the end.
"""

import sys
import weakref
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from course.core import insides
from course.diagnostics.fit.record import KINDS, Message, Record, Storage
from course.diagnostics.fit.torch_insides import schema_of
from course.diagnostics.watch.lines import Lines
from course.given import sent
from course.pretended import tensors as pretended

# Parts of the paths of files that allocate buffers, and of files that do not.
COMMUNICATES = ("torch/distributed/fsdp/", "torch/nn/parallel/", "torch/distributed/optim/",
                "torch/distributed/algorithms/ddp_comm_hooks/",
                "diagnostics/fit/reducer.py")  # fmt: skip
COMPUTES = ("torch/nn/modules/", "torch/optim/")
# Namespaces of operations that ask for a device, as often as all others together, or that mark a
# place for torch's profiler.
WITHOUT_MEMORY = {"prim", "profiler"}
CPU = torch.device("cpu")
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Ledger(TorchDispatchMode):
    """Records the storages of all operations inside its `with`.

    New memory gets the kind `new_kind`, unless it later turns out to be of another kind. `run`
    carries out an operation, and also gets a list of the tensors among its arguments.
    """

    def __init__(self, lines: Lines, run: Callable[[Any, list[Tensor], Args, Kwargs], Any]) -> None:
        super().__init__()
        self.record = Record()
        self.new_kind = "other"
        self.begin_phase("setting up")
        self._lines, self._run = lines, run
        self._numbers: dict[int, int] = {}  # the number of each living storage, by its address
        self._alive: dict[int, weakref.ref[torch.UntypedStorage]] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or the first operation would import torch._dynamo, which takes seconds

    def mark(self, tensors: Iterable[Tensor], kind: str) -> None:
        """Record the kind of these tensors; one known earlier stays if it is first in `KINDS`."""
        for tensor in tensors:
            if (number := self._number(local(tensor))) is not None:
                storage = self.record.storages[number]
                storage.kind = min(kind, storage.kind, key=KINDS.index)

    def begin_phase(self, name: str, new_kind: str = "other") -> None:
        """Record that a new phase of the script begins; new memory is of the kind `new_kind`."""
        self.new_kind = new_kind
        self.record.phases.append((len(self.record.events), name))

    def put_on_gpu(self, tensor: Tensor) -> None:
        """Record that a tensor is on the GPU from now on."""
        self.record.uses_gpu = True
        self._put_on_gpu([self._number(local(tensor))])

    def take_from_gpu(self, tensor: Tensor) -> None:
        """Record that a tensor, copied from a GPU, is in the host's memory."""
        if (number := self._number(local(tensor))) is not None:
            self.record.storages[number].on_gpu = False

    def is_on_gpu(self, tensor: Tensor) -> bool:
        """Whether a tensor is known to be on the GPU."""
        number = self._number(local(tensor))
        return number is not None and self.record.storages[number].on_gpu

    def end_step(self) -> None:
        """Record the end of a training step, when the first optimizer has stepped."""
        self.record.steps.append(len(self.record.events))

    def resize(self, storage: torch.UntypedStorage) -> None:
        """Record that the size of a storage has changed."""
        number = self._numbers.get(insides.inside(storage, "_cdata"))
        if number is not None:
            entry = self.record.storages[number]
            self.record.events.append((number, storage.nbytes() - entry.nbytes))
            entry.nbytes = storage.nbytes()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Args = (), kwargs: Kwargs | None = None
    ) -> Any:
        if func.namespace in WITHOUT_MEMORY:
            return self._run(func, [], args, kwargs or {})
        if any(kind.__name__ in ("DTensor", "AsyncCollectiveTensor") for kind in types):
            return NotImplemented  # its operations on its parts come here again
        kwargs = dict(kwargs or {})
        given = tensors((*args, *kwargs.values()))
        device = getattr(kwargs.get("device"), "type", "")
        to_gpu = device == "cuda"
        if device in ("cpu", "cuda"):
            kwargs["device"] = CPU  # also for "cpu:0", which fake tensors take for another device
            self.record.uses_gpu |= to_gpu
        result = self._run(func, given, args, kwargs)
        made = tensors([result])
        numbers = [self._number(tensor) for tensor in (*given, *made)]
        if "c10d" in func.namespace:
            self._note_message(sent.collective(func, args))
        if func.namespace == "c10d":
            self.mark(given, "buffers")
            to_gpu = self.record.uses_gpu  # NCCL sends only tensors on GPUs
        if to_gpu:
            self._put_on_gpu(numbers if func.namespace == "c10d" else numbers[len(given) :])
        elif self.record.uses_gpu:
            self._spread_to_gpu(func, given, numbers)
        return result

    def _note_message(self, message: sent.Collective | None) -> None:
        if message:
            rounds = 2 if message.name == "allreduce" else 1  # its sums travel back, too
            hops = rounds * (len(message.ranks) - 1)
            nbytes = hops / len(message.ranks) * message.nbytes
            self.record.messages.append(Message(len(self.record.events), hops, nbytes))

    def _spread_to_gpu(self, function: Any, given: list[Tensor], numbers: list[int | None]) -> None:
        """Record that tensors used with one on the GPU are there: few operations mix devices."""
        if schema_of(function).name in pretended.MAY_MIX:
            if self.is_on_gpu(given[0]):
                self._put_on_gpu(numbers[len(given) :])
        elif any(tensor.dim() and self.is_on_gpu(tensor) for tensor in given):
            scalars = [not tensor.dim() for tensor in given]
            self._put_on_gpu(
                [n for i, n in enumerate(numbers) if i >= len(given) or not scalars[i]]
            )

    def _put_on_gpu(self, numbers: Iterable[int | None]) -> None:
        for number in numbers:
            if number is not None:
                self.record.storages[number].on_gpu = True

    def _number(self, tensor: Tensor) -> int | None:
        """The number of a tensor's storage, which is recorded if new; None if it has no memory."""
        try:
            storage = tensor.untyped_storage()
        except NotImplementedError:  # a sparse tensor has no storage
            return None
        key = insides.inside(storage, "_cdata")
        if key in self._numbers:
            return self._numbers[key]
        if tensor.device.type == "meta":
            return None
        record, number = self.record, len(self.record.storages)
        nbytes = storage.nbytes()
        frame = sys._getframe(2)
        kind = "buffers" if _communicates(frame) else self.new_kind
        record.storages.append(Storage(nbytes, self._lines.of(frame), kind))
        record.events.append((number, nbytes))
        self._numbers[key] = number
        self._alive[key] = weakref.ref(storage, lambda _: self._free(key))
        return number

    def _free(self, key: int) -> None:
        number = self._numbers.pop(key)
        del self._alive[key]
        self.record.events.append((number, -self.record.storages[number].nbytes))


def tensors(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among the arguments or results of an operation, also those in lists."""
    parts: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            parts.append(value)
        elif isinstance(value, (list, tuple)):
            parts += tensors(value)
    return parts


def local(tensor: Tensor) -> Tensor:
    """The part of a tensor that this rank has: all of it, unless it is a DTensor."""
    return getattr(tensor, "_local_tensor", tensor)


def _communicates(frame: Any) -> bool:
    """Whether a frame allocates for torch's distributed code, not for a module or an optimizer."""
    while frame is not None:
        communicates = _is_for_messages(frame.f_code.co_filename)
        if communicates is not None:
            return communicates
        frame = frame.f_back
    return False


@cache
def _is_for_messages(file: str) -> bool | None:
    """Whether a file allocates for messages; None if its callers decide that."""
    if any(part in file for part in COMMUNICATES):
        return True
    return False if any(part in file for part in COMPUTES) else None
