"""What the tests in tests/facts do on each rank, over Gloo."""

import functools
import os
import socket
import struct
from collections.abc import Callable
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from course.given import splits


def error_of(attempt: Callable[[], object]) -> str:
    """The message of the error that an attempt raises, "" if it raises none."""
    try:
        attempt()
    except RuntimeError as error:
        return str(error)
    return ""


def collectives() -> dict[str, list[float]]:
    """What two ranks hold after some collectives."""
    rank = dist.get_rank()
    column = torch.arange(1.0, 13.0).view(4, 3)[:, 0].clone() if rank else torch.zeros(4)
    whole = torch.arange(1.0, 13.0).view(4, 3)
    sent = whole[:, 0] if rank else torch.zeros(4)
    dist.broadcast(sent, src=1)
    first, second = torch.tensor([1.0]), torch.tensor([10.0])
    for tensor in (first, second) if rank else (second, first):
        dist.all_reduce(tensor)
    infinite = torch.tensor([float("inf") if rank else 1.0])
    dist.all_reduce(infinite, dist.ReduceOp.AVG)
    vote = torch.tensor([float(rank)])
    dist.all_reduce(vote, dist.ReduceOp.MIN)
    both = [None, None]
    dist.all_gather_object(both, rank + 0.5)
    return {
        "right": column.tolist(),
        "of a column": sent.tolist(),
        "by order": [first.item(), second.item()],
        "infinite": infinite.tolist(),
        "vote": vote.tolist(),
        "objects": both,
    }


def root_of_a_group() -> float:
    """What rank 1 holds after a broadcast from rank 1 in a group of rank 1 alone."""
    group = dist.new_group([1])
    number = torch.tensor([float(dist.get_rank())])
    if dist.get_rank() == 1:
        dist.broadcast(number, src=1, group=group)
    return number.item()


def sent(call: Callable[[], object]) -> int:
    """The bytes that this process sends over TCP during a call."""
    before = _tcp_bytes_sent()
    call()
    dist.barrier()
    return _tcp_bytes_sent() - before


def _tcp_bytes_sent() -> int:
    """The bytes that all TCP sockets of this process have sent, without retransmissions.

    See tcp_info in linux/tcp.h. The other end may acknowledge bytes much later.
    """
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as copy:
                info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 216)
        except OSError:  # not a socket, or not one of TCP
            continue
        total_sent, retransmitted = struct.unpack_from("=QQ", info, 200)
        total += total_sent - retransmitted
    return total


def halves() -> dict[str, float]:
    """What an all-reduce and its halves send, in units of the tensor."""
    whole, part = torch.zeros(500_000), torch.zeros(250_000)
    scatter = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)
    gather = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
    calls = {
        "all-reduce": lambda: dist.all_reduce(whole),
        "reduce-scatter": lambda: scatter(part, whole),
        "reduce-scatter of a list": lambda: dist.reduce_scatter(part, list(whole.chunk(2))),
        "all-gather": lambda: gather(whole, part),
    }
    dist.barrier()
    return {name: sent(call) / (4 * len(whole)) for name, call in calls.items()}


def by_data() -> tuple[int, int]:
    """The bytes that lab 00's step split by data reports, and the bytes that it really sends."""
    model, batch = splits.layers(0, 2, 512), torch.randn(8, 512)
    returned = splits.by_data(model, batch)[1]  # connections are made on first use
    return returned, sent(lambda: splits.by_data(model, batch))


def timeouts() -> dict[str, str]:
    """The error on rank 0 when rank 1 does not come in time."""
    messages = {}
    calls = {
        "monitored": lambda: dist.monitored_barrier(groups[0], timedelta(seconds=0.2)),
        "wait": lambda: dist.all_reduce(torch.ones(1), group=groups[1], async_op=True).wait(
            timeout=timedelta(seconds=0.2)
        ),
        "barrier": lambda: dist.barrier(groups[2], timeout=timedelta(seconds=0.2)),
    }
    groups = [dist.new_group() for _ in calls]
    if dist.get_rank() == 0:
        for name, call in calls.items():
            try:
                messages[name] = error_of(call)
            except TypeError as error:  # a barrier that takes no timeout yet
                messages[name] = f"TypeError: {error}"
        dist.distributed_c10d._get_default_store().set("tried", "yes")
    else:
        dist.distributed_c10d._get_default_store().wait(["tried"])
    return messages


def ddp() -> dict[str, list[float]]:
    """What DDP makes equal on two ranks: the weights, the buffers, the gradients and their norm."""
    rank = dist.get_rank()
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.BatchNorm1d(1))
    with torch.no_grad():
        model[0].weight.fill_(rank + 1)
        model[1].running_mean.fill_(rank + 1)
    wrapped = DistributedDataParallel(model)
    values = {"weight": model[0].weight.item(), "buffer": model[1].running_mean.item()}
    model[1].running_mean.fill_(rank + 5)
    wrapped.eval()
    wrapped(torch.ones(1, 1))
    values["before each forward"] = model[1].running_mean.item()
    plain = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    for batch in ([[1.0]], [[4.0], [6.0]])[rank], [[float("nan") if rank else 1.0]]:
        plain.zero_grad()
        plain(torch.tensor(batch)).mean().backward()
        gradient = plain.module.weight.grad
        values[f"gradient {len(values)}"] = gradient.item()
    values["norm"] = nn.utils.clip_grad_norm_(plain.parameters(), 1.0).item()
    plain.zero_grad()
    with torch.no_grad():
        plain.module.weight.fill_(rank)
    plain(torch.ones(1, 1)).square().mean().backward()
    values["norm of drifted"] = nn.utils.clip_grad_norm_(plain.parameters(), 10.0).item()
    return values


def evaluation_on_rank_0() -> bool:
    """Return True once rank 0 alone has run a forward of DDP without buffers."""
    model = DistributedDataParallel(nn.Linear(1, 1)).eval()
    if dist.get_rank() == 0:
        with torch.no_grad():
            model(torch.ones(1, 1))
    return True


def disagreements() -> dict[str, tuple[str, list[float]]]:
    """For each disagreement, at debug level DETAIL: the error, and the tensor's values after it."""
    first, answers = dist.get_rank() == 0, {}
    calls = {
        "shape": lambda tensor, group: dist.all_reduce(tensor[: 1 if first else 2], group=group),
        "dtype": lambda tensor, group: dist.all_reduce(
            tensor if first else tensor.double(), group=group
        ),
        "kind": lambda tensor, group: (
            dist.all_reduce(tensor, group=group)
            if first
            else dist.broadcast(tensor, src=0, group=group)
        ),
        "op": lambda tensor, group: dist.all_reduce(
            tensor, dist.ReduceOp.SUM if first else dist.ReduceOp.MAX, group=group
        ),
        "root": lambda tensor, group: dist.broadcast(tensor, src=dist.get_rank(), group=group),
    }
    usual = dist.get_debug_level()
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    # Only ranks that broadcast from different roots wait in vain.
    limits = [timedelta(seconds=3 if name == "root" else 300) for name in calls]
    groups = [dist.new_group(timeout=limit) for limit in limits]
    dist.set_debug_level(usual)
    for (name, call), group in zip(calls.items(), groups, strict=True):
        tensor = torch.ones(2)
        error = error_of(functools.partial(call, tensor, group))
        answers[name] = error, tensor.tolist()
    return answers


def scaler_of_shards() -> list[float]:
    """The loss scale and a sharded weight's change after a step with an inf on rank 1 alone."""
    model = fully_shard(nn.Linear(2, 2, bias=False), mesh=init_device_mesh("cpu", (2,)))
    scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.SGD(model.parameters(), lr=1)
    before = model.weight.full_tensor().clone()
    scaler.scale(model(torch.ones(1, 2)).sum()).backward()
    if dist.get_rank() == 1:
        model.weight.grad.to_local().fill_(float("inf"))
    scaler.step(optimizer)
    scaler.update()
    return [scaler.get_scale(), (model.weight.full_tensor() - before).abs().max().item()]


def rank_2_leaves_a_broadcast_first() -> bool:
    """Return True if three ranks finish although rank 1 waits until rank 2 has left a broadcast."""
    rank, number = dist.get_rank(), torch.ones(1)
    if rank == 1:
        dist.recv(torch.empty(1), src=2)
    dist.broadcast(number, src=0)
    if rank == 2:
        dist.send(number, dst=1)
    return True


def everything() -> dict[str, object]:
    """The results of these functions, by name, in one launch."""
    jobs = (
        collectives,
        halves,
        root_of_a_group,
        timeouts,
        ddp,
        evaluation_on_rank_0,
        scaler_of_shards,
        disagreements,
    )
    return {job.__name__: job() for job in jobs}


def restarted() -> bool:
    """Whether a run that stops after two steps and continues ends with the same bits."""
    straight, stopped = _net(), _net()
    _descend(straight, 0, 4)
    _descend(stopped, 0, 2)
    continued = _net()
    continued.load_state_dict(stopped.state_dict())
    _descend(continued, 2, 4)
    return all(
        torch.equal(*both)
        for both in zip(straight.parameters(), continued.parameters(), strict=True)
    )


def _net() -> nn.Module:
    torch.manual_seed(0)
    layers = [layer for _ in range(8) for layer in (nn.Linear(200, 200), nn.Tanh())]
    return nn.Sequential(*layers)


def _descend(net: nn.Module, begin: int, end: int) -> None:
    """Take the steps from `begin` to `end` - 1 of one run."""
    model = DistributedDataParallel(net)
    for step in range(begin, end):
        inputs = torch.randn(
            64, 200, generator=torch.Generator().manual_seed(10 * step + dist.get_rank())
        )
        model(inputs).square().sum().backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= 1e-3 * parameter.grad
        net.zero_grad()
