"""The operations that wait, and that gradients flow through: backward they are operations too."""

import torch
from torch import Tensor
from torch.autograd import Function

from course.given.horovod.ops import (
    Average,
    Sum,
    alltoall_async,
    broadcast_async,
    grouped_allgather_async,
    grouped_allreduce_async,
    grouped_reducescatter_async,
    synchronize,
)
from course.given.horovod.process_sets import global_process_set


class Compression:
    """What is done to a tensor before it travels, and undone afterwards."""

    class none:
        """Nothing."""

        @staticmethod
        def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
            """What travels, and the dtype to restore."""
            return tensor, tensor.dtype

        @staticmethod
        def decompress(tensor: Tensor, dtype: torch.dtype) -> Tensor:
            """What arrived, in the dtype that it had."""
            return tensor.to(dtype)

    class fp16(none):
        """Floating-point numbers travel as float16: half the bytes of float32, three digits."""

        @staticmethod
        def compress(tensor: Tensor) -> tuple[Tensor, torch.dtype]:
            """Half precision, if it is a floating-point tensor."""
            return tensor.half() if tensor.is_floating_point() else tensor, tensor.dtype


def _backward_name(name: str | None) -> str | None:
    return name and f"{name}.gradient"


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, name, op, prescale, postscale, process_set, *tensors):
        ctx.name, ctx.reduction = _backward_name(name), (op, prescale, postscale, process_set)
        handle = grouped_allreduce_async(tensors, None, name, *ctx.reduction)
        return synchronize(handle)

    @staticmethod
    def backward(ctx, *gradients):
        if ctx.reduction[0] not in (Average, Sum):
            raise ValueError(f"an allreduce with op {ctx.reduction[0]} has no gradient")
        gradients = [gradient.contiguous() for gradient in gradients]
        return None, None, None, None, None, *_AllReduce.apply(ctx.name, *ctx.reduction, *gradients)


def grouped_allreduce(
    tensors, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
    postscale_factor=1.0, process_set=global_process_set,
):  # fmt: skip
    """The tensors reduced over the ranks, by default averaged, in a list."""
    op = op or (Sum if average is False else Average)
    sent, dtypes = zip(*map(compression.compress, tensors), strict=True)
    results = _AllReduce.apply(name, op, prescale_factor, postscale_factor, process_set, *sent)
    return list(map(compression.decompress, results, dtypes))


def allreduce(
    tensor, average=None, name=None, compression=Compression.none, op=None, prescale_factor=1.0,
    postscale_factor=1.0, process_set=global_process_set,
):  # fmt: skip
    """The tensor reduced over the ranks, by default averaged."""
    factors = prescale_factor, postscale_factor
    return grouped_allreduce([tensor], average, name, compression, op, *factors, process_set)[0]


class _Broadcast(Function):
    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.name, ctx.root_rank, ctx.process_set = _backward_name(name), root_rank, process_set
        return synchronize(broadcast_async(tensor, root_rank, name, process_set))

    @staticmethod
    def backward(ctx, gradient):
        gradient = allreduce(gradient.contiguous(), name=ctx.name, process_set=ctx.process_set)
        mine = ctx.process_set.own_rank == ctx.root_rank
        return gradient if mine else torch.zeros_like(gradient), None, None, None


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """The root's tensor."""
    return _Broadcast.apply(tensor, root_rank, name, process_set)


class _AllGather(Function):
    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        handle = grouped_allgather_async(tensors, name, process_set)
        results = synchronize(handle)
        ctx.name, ctx.process_set = _backward_name(name), process_set
        ctx.rows = [
            [request.shapes[i][0] for request in handle.agreed] for i in range(len(tensors))
        ]
        return results

    @staticmethod
    def backward(ctx, *gradients):
        gradients = [gradient.contiguous() for gradient in gradients]
        whole = grouped_allreduce(gradients, name=ctx.name, process_set=ctx.process_set)
        mine = ctx.process_set.rank()
        parts = (each.split(rows) for each, rows in zip(whole, ctx.rows, strict=True))
        return None, None, *(part[mine] for part in parts)


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    """The rows of all ranks, for each tensor of a group, in a list."""
    return list(_AllGather.apply(name, process_set, *tensors))


def allgather(tensor, name=None, process_set=global_process_set):
    """The rows of all ranks, in order of rank; the ranks may have different numbers of them."""
    return grouped_allgather([tensor], name, process_set)[0]


class _AllToAll(Function):
    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        result, received = synchronize(alltoall_async(tensor, splits, name, process_set))
        ctx.name, ctx.received, ctx.process_set = _backward_name(name), received, process_set
        ctx.mark_non_differentiable(received)
        return result, received

    @staticmethod
    def backward(ctx, gradient, _):
        back = _AllToAll.apply(gradient.contiguous(), ctx.received, ctx.name, ctx.process_set)
        return back[0], None, None, None


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """The rows that each rank has for this one; with `splits` also how many came from each."""
    result, received = _AllToAll.apply(tensor, splits, name, process_set)
    return result if splits is None else (result, received)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx, name, op, process_set, prescale, postscale, *tensors):
        ctx.name, ctx.op, ctx.process_set = _backward_name(name), op, process_set
        ctx.factor = prescale * postscale * (process_set.size() if op == Sum else 1)
        reduction = op, process_set, prescale, postscale
        return synchronize(grouped_reducescatter_async(tensors, name, *reduction))

    @staticmethod
    def backward(ctx, *gradients):
        if ctx.op not in (Average, Sum):
            raise ValueError(f"a reducescatter with op {ctx.op} has no gradient")
        scaled = [(gradient * ctx.factor).contiguous() for gradient in gradients]
        whole = grouped_allgather(scaled, ctx.name, ctx.process_set)
        return None, None, None, None, None, *whole


def grouped_reducescatter(
    tensors, name=None, compression=Compression.none, op=Average, process_set=global_process_set,
    prescale_factor=1.0, postscale_factor=1.0,
):  # fmt: skip
    """This rank's share of the rows of each reduced tensor of a group, in a list."""
    sent, dtypes = zip(*map(compression.compress, tensors), strict=True)
    reduction = op, process_set, prescale_factor, postscale_factor
    results = _ReduceScatter.apply(name, *reduction, *sent)
    return list(map(compression.decompress, results, dtypes))


def reducescatter(
    tensor, name=None, compression=Compression.none, op=Average, process_set=global_process_set,
    prescale_factor=1.0, postscale_factor=1.0,
):  # fmt: skip
    """This rank's share of the rows of the reduced tensor; the first ranks may get one more."""
    reduction = op, process_set, prescale_factor, postscale_factor
    return grouped_reducescatter([tensor], name, compression, *reduction)[0]
