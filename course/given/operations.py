"""The operations of a backend, each as a call on small tensors that you can try."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

Operation = Callable[[], object]


def operations(device: torch.device, group: dist.ProcessGroup | None) -> dict[str, Operation]:
    """The operations by name, on tensors of this device, among the ranks of the group."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    after, before = (rank + 1) % world_size, (rank - 1) % world_size

    def ones(dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.ones(world_size, device=device).to(dtype)

    def parts() -> list[Tensor]:
        return list(ones().split(1))

    def ring() -> None:
        to, source = (dist.isend, ones(), after, group), (dist.irecv, ones(), before, group)
        for work in dist.batch_isend_irecv([dist.P2POp(*to), dist.P2POp(*source)]):
            work.wait()

    return {
        "send and receive": ring,
        "broadcast": lambda: dist.broadcast(ones(), 0, group),
        "scatter": lambda: dist.scatter(ones()[:1], None if rank else parts(), 0, group),
        "gather": lambda: dist.gather(ones()[:1], None if rank else parts(), 0, group),
        "reduce": lambda: dist.reduce(ones(), 0, group=group),
        "all-reduce": lambda: dist.all_reduce(ones(), group=group),
        "all-gather": lambda: dist.all_gather(parts(), ones()[:1], group),
        "reduce-scatter": lambda: dist.reduce_scatter(ones()[:1], parts(), group=group),
        "all-to-all": lambda: dist.all_to_all_single(ones(), ones(), group=group),
        "barrier": lambda: dist.barrier(group),
        "the mean, at once": lambda: dist.all_reduce(ones(), dist.ReduceOp.AVG, group),
        "16-bit floats": lambda: dist.all_reduce(ones(torch.bfloat16), group=group),
        "who is missing at a barrier?": lambda: dist.monitored_barrier(group),
    }


def attempt(call: Operation, device: torch.device) -> str:
    """Make a call; return "yes", or what went wrong."""
    try:
        call()
        if device.type == "cuda":
            torch.cuda.synchronize()  # only then is NCCL done
        return "yes"
    except Exception as error:  # each backend refuses in its own way
        text = str(error) or type(error).__name__
        return text.splitlines()[0].rpartition("] ")[2][:60]  # Gloo begins with "[file and line] "
