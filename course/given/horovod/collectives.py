"""How the ranks talk, and how they run an operation once all of them have agreed on it."""

import os
import pickle
import time
from collections.abc import Sequence
from types import ModuleType

import torch
import torch.distributed as dist
from torch import Tensor

from course.given.horovod.requests import Request

FRAME = 8192  # bytes of the message in which a rank reports its news
REDUCE = {
    "Average": dist.ReduceOp.SUM,  # divided afterwards
    "Sum": dist.ReduceOp.SUM,
    "Max": dist.ReduceOp.MAX,
}
# Types that both Gloo and NCCL can send and reduce. Gloo reports for others: "Invalid scalar type".
DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool")


def backend() -> str:
    """Choose NCCL for tensors on GPUs if each rank of this machine has a GPU; Gloo for the rest."""
    on_gpus = torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return "cpu:gloo,cuda:nccl" if on_gpus else "gloo"


def finish(work: dist.Work, device: torch.device) -> None:
    """Return when the data has arrived. A GPU's stream does not wait: it goes on computing.

    Raises ConnectionError if the reason is that another rank cannot be reached.
    """
    try:
        while device.type == "cuda" and not work.is_completed():
            time.sleep(1e-4)
        work.wait()
    except RuntimeError as error:
        if isinstance(error, dist.DistBackendError) or "gloo/transport" in str(error):
            reason = str(error).splitlines()[0]
            raise ConnectionError(f"a rank cannot be reached any more: {reason}") from error
        raise


def exchange(message: object, group: dist.ProcessGroup) -> list:
    """Every rank's `message`: one frame each, and a second if any is longer."""
    data = pickle.dumps(message)
    data = len(data).to_bytes(8, "little") + data

    def gather(part: bytes, length: int) -> list[bytes]:
        mine = torch.frombuffer(bytearray(part.ljust(length, b"\0")), dtype=torch.uint8)
        frames = [torch.empty_like(mine) for _ in range(group.size())]
        finish(dist.all_gather(frames, mine, group=group, async_op=True), mine.device)
        return [frame.numpy().tobytes() for frame in frames]

    frames = gather(data[:FRAME], FRAME)
    more = max(8 + int.from_bytes(frame[:8], "little") for frame in frames) - FRAME
    if more > 0:
        rest = gather(data[FRAME:], more)
        frames = [first + then for first, then in zip(frames, rest, strict=True)]
    return [pickle.loads(frame[8:]) for frame in frames]


def scale(tensor: Tensor, factor: float) -> None:
    """Multiply in place; an integer keeps only the whole part."""
    if factor != 1 and tensor.is_floating_point():
        tensor.mul_(factor)
    elif factor != 1:
        tensor.copy_(tensor.double() * factor)


def allreduce(flat: Tensor, request: Request, group: dist.ProcessGroup) -> None:
    """Reduce in place."""
    before, after = request.factors
    scale(flat, before)
    finish(dist.all_reduce(flat, REDUCE[request.op], group=group, async_op=True), flat.device)
    scale(flat, after / group.size() if request.op == "Average" else after)


def broadcast(tensor: Tensor, requests: Sequence[Request], group: dist.ProcessGroup) -> Tensor:
    """Overwrite with the root's values, in place."""
    work = dist.broadcast(tensor, requests[0].root, group=group, async_op=True)
    finish(work, tensor.device)
    return tensor


def allgather(tensor: Tensor, requests: Sequence[Request], group: dist.ProcessGroup) -> Tensor:
    """All ranks' rows, in order of rank.

    The requests contain each rank's number of rows, so it is known; all are padded to the largest.
    """
    rows = [request.shapes[0][0] for request in requests]
    padded = tensor.new_zeros(max(rows), *tensor.shape[1:])
    padded[: len(tensor)] = tensor
    parts = [torch.empty_like(padded) for _ in rows]
    finish(dist.all_gather(parts, padded, group=group, async_op=True), tensor.device)
    return torch.cat([part[:count] for part, count in zip(parts, rows, strict=True)])


OPERATIONS = {"broadcast": broadcast, "allgather": allgather}


class CollectiveRunner:
    """Runs the operations that some ranks agreed on, in their own process group.

    `fusion` has `pack` and `unpack`. `messages` counts the messages sent.
    """

    def __init__(self, ranks: list[int], fusion: ModuleType) -> None:
        self.group = dist.new_group(ranks, backend=backend())
        self.fusion = fusion
        self.buffers: dict[tuple[torch.dtype, torch.device], Tensor] = {}
        self.messages = 0

    def run(self, handles: list) -> list[tuple[str, float, float]]:
        """Run one message: several all-reduces, or one operation of another kind.

        Returns its phases, each as (name, start, end) in seconds.
        """
        first = handles[0]
        kind = first.request.kind
        if not first.tensors:  # a barrier: all that counts is that every rank requested it
            return []
        if first.stream:  # a thread begins on GPU 0, whichever GPU its rank has
            torch.cuda.set_device(first.stream.device)
        start = time.perf_counter()
        with torch.no_grad(), torch.cuda.stream(first.stream):
            if kind == "allreduce":
                return self.allreduce(handles)
            self.messages += 1
            result = OPERATIONS[kind](first.tensors[0], first.agreed, self.group)
        first.results = (result,)
        return [(kind.upper(), start, time.perf_counter())]

    def allreduce(self, handles: list) -> list[tuple[str, float, float]]:
        """Reduce all tensors of the handles together; a single tensor needs no packing."""
        self.messages += 1
        tensors = [tensor for handle in handles for tensor in handle.tensors]
        alone = len(tensors) == 1
        times = [time.perf_counter()]
        flat = tensors[0] if alone else self.fusion.pack(tensors, self.buffer(tensors))
        times.append(time.perf_counter())
        allreduce(flat, handles[0].request, self.group)
        times.append(time.perf_counter())
        if not alone:
            self.fusion.unpack(flat, tensors)
        times.append(time.perf_counter())
        for handle in handles:
            handle.results = tuple(handle.tensors)
        names = ("MEMCPY_IN_FUSION_BUFFER", "ALLREDUCE", "MEMCPY_OUT_FUSION_BUFFER")
        phases = zip(names, times[:-1], times[1:], strict=True)
        return [phase for phase in phases if phase[0] == "ALLREDUCE" or not alone]

    def buffer(self, tensors: list[Tensor]) -> Tensor:
        """The memory for fused messages that have the dtype and device of these tensors."""
        key = tensors[0].dtype, tensors[0].device
        size = sum(tensor.numel() for tensor in tensors)
        if key not in self.buffers or self.buffers[key].numel() < size:
            self.buffers[key] = tensors[0].new_empty(size)
        return self.buffers[key]
