"""Horovod's operations under its own names.

Those that end in ``_async`` return a handle without waiting; a ``_`` at the end means in place.
"""

from collections.abc import Sequence
from itertools import count

from torch import Tensor

from course.given.horovod.basics import engine, size
from course.given.horovod.collectives import DTYPES
from course.given.horovod.engine import Handle
from course.given.horovod.process_sets import JOIN, ProcessSet, global_process_set

Average, Sum, Max = "Average", "Sum", "Max"
_calls = count(1)


def _submit(
    kind: str,
    tensors: Sequence[Tensor],
    name: str | None,
    process_set: ProcessSet = global_process_set,
    **details: object,
) -> Handle:
    """Refuse tensors that cannot be sent; hand the rest to the engine.

    Calls without a name get the number of the call as a name, so they are matched by their order.
    """
    name = name or f"{kind}.noname.{next(_calls)}"
    if fault := _fault(kind, tensors, process_set):
        raise ValueError(f"{kind} {name!r}: {fault}")
    if tensors:
        details |= {"dtype": _dtype(tensors[0]), "device": tensors[0].device.type}
    details |= {"shapes": tuple(tuple(t.shape) for t in tensors)}
    details |= {"bytes": sum(t.nbytes for t in tensors), "process_set": process_set.process_set_id}
    return engine().submit(name, kind, [tensor.detach() for tensor in tensors], **details)


def _single(handle):
    """Mark the handle of one tensor, which `synchronize` then returns without a list."""
    handle.single = True
    return handle


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _fault(kind: str, tensors: Sequence[Tensor], process_set: ProcessSet) -> str:
    """Why these tensors cannot be sent; "" if they can."""
    rank = engine().rank
    if process_set.process_set_id is None:
        return f"give the process set {process_set.ranks} to init() first"
    if rank not in process_set.ranks:
        return f"rank {rank} is not in the process set {process_set.ranks}"
    if not all(tensor.is_contiguous() for tensor in tensors):
        return "the tensor has to be contiguous; call .contiguous() on it first"
    if len({(tensor.dtype, tensor.device) for tensor in tensors}) > 1:
        return "the tensors of a group have to agree in dtype and device"
    if tensors and _dtype(tensors[0]) not in DTYPES:
        known = ", ".join(DTYPES)
        return f"{_dtype(tensors[0])} cannot be sent over Gloo or NCCL, only {known}; convert it"
    if kind == "allgather" and tensors[0].dim() == 0:
        return "a tensor without dimensions has no rows; use tensor.reshape(1)"
    return ""


def poll(handle):
    """Return at once whether the operation is done; the engine works on without you."""
    return handle.done


def synchronize(handle):
    """Wait until the operation is done, and return its result.

    Raises HorovodInternalError if it cannot be run.
    """
    return engine().wait(handle)


# -- allreduce: of one tensor, or of a group that becomes ready and is sent as one -----------------


def grouped_allreduce_async_(
    tensors,
    name=None,
    op=Average,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Start the reduction of a group, in place."""
    factors = float(prescale_factor), float(postscale_factor)
    return _submit("allreduce", tensors, name, process_set, op=op, factors=factors)


def grouped_allreduce_async(
    tensors,
    name=None,
    op=Average,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Start the reduction of a group into new tensors."""
    copies = [tensor.detach().clone() for tensor in tensors]
    factors = prescale_factor, postscale_factor
    return grouped_allreduce_async_(copies, name, op, *factors, process_set)


def allreduce_async_(
    tensor,
    name=None,
    op=Average,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Start the reduction of a tensor, in place."""
    factors = prescale_factor, postscale_factor
    return _single(grouped_allreduce_async_([tensor], name, op, *factors, process_set))


def allreduce_async(
    tensor,
    name=None,
    op=Average,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Start the reduction of a tensor into a new one."""
    factors = prescale_factor, postscale_factor
    return _single(grouped_allreduce_async([tensor], name, op, *factors, process_set))


def allreduce_(
    tensor,
    name=None,
    op=Average,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """Reduce a tensor in place, and return it."""
    factors = prescale_factor, postscale_factor
    synchronize(allreduce_async_(tensor, name, op, *factors, process_set))
    return tensor


def allreduce(
    tensor,
    name=None,
    op=Average,
    prescale_factor=1.0,
    postscale_factor=1.0,
    process_set=global_process_set,
):
    """The tensor reduced over the ranks, by default averaged."""
    factors = prescale_factor, postscale_factor
    return synchronize(allreduce_async(tensor, name, op, *factors, process_set))


# -- the others ------------------------------------------------------------------------------------


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    """Start to send the root's values, in place. `root_rank` counts among all ranks."""
    if not 0 <= root_rank < size():
        raise ValueError(f"broadcast: there is no rank {root_rank} among {size()}")
    if process_set.ranks and root_rank not in process_set.ranks:
        raise ValueError(f"broadcast: there is no rank {root_rank} among {process_set.ranks}")
    return _single(_submit("broadcast", [tensor], name, process_set, root=root_rank))


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    """Start to send the root's values into a new tensor."""
    return broadcast_async_(tensor.detach().clone(), root_rank, name, process_set)


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """Overwrite the tensor with the root's values, and return it."""
    synchronize(broadcast_async_(tensor, root_rank, name, process_set))
    return tensor


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """The root's tensor."""
    return synchronize(broadcast_async(tensor, root_rank, name, process_set))


def allgather_async(tensor, name=None, process_set=global_process_set):
    """Start to collect the rows of all ranks, in order of rank."""
    return _single(_submit("allgather", [tensor], name, process_set))


def allgather(tensor, name=None, process_set=global_process_set):
    """The rows of all ranks, in order; the ranks may have different numbers of them."""
    return synchronize(allgather_async(tensor, name, process_set))


def barrier(process_set=global_process_set):
    """Return when all ranks have called it."""
    synchronize(_submit("barrier", [], None, process_set))


def join(device=-1) -> int:
    """Report that this rank has no more data; wait until no rank has, and return the last to join.

    Meanwhile it takes part in the sums and averages of the others with zeros. They lie on the GPU
    `device` if the others' tensors are on GPUs; -1 stands for the one numbered `local_rank()`.
    """
    if device >= 0:
        engine().gpu_of_zeros = device
    return synchronize(_single(_submit(JOIN, [], JOIN)))
