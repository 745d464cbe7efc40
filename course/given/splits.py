"""One step of training on several ranks: split by data, and split by layers.

Each way returns the loss, and the number of bytes that this rank has sent.
"""

import torch
import torch.distributed as dist
from torch import Tensor, nn


def layers(first: int, end: int, width: int) -> nn.Sequential:
    """The layers first ... end - 1, with the same weights on every rank."""
    made = []
    for number in range(first, end):
        torch.manual_seed(number)
        made += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*made)


def alone(model: nn.Module, batch: Tensor) -> tuple[Tensor, int]:
    """The whole network and the whole batch, in one process, rank 0; the others do nothing."""
    if dist.get_rank():
        return torch.zeros(1), 0
    loss = model(batch).square().mean()
    loss.backward()
    return loss.detach(), 0


def by_data(model: nn.Module, batch: Tensor) -> tuple[Tensor, int]:
    """The whole network and a share of the batch on every rank."""
    world_size = dist.get_world_size()
    loss = model(batch.chunk(world_size)[dist.get_rank()]).square().mean()
    loss.backward()
    shared = [loss.detach().view(1), *(parameter.grad for parameter in model.parameters())]
    flat = nn.utils.parameters_to_vector(shared)  # one message: the loss and all gradients
    dist.all_reduce(flat)
    nn.utils.vector_to_parameters(flat / world_size, shared)
    return shared[0], 2 * (world_size - 1) * flat.nbytes // world_size  # a ring's (lab 02)


def by_layers(stage: nn.Module, batch: Tensor, parts: int = 1) -> tuple[Tensor, int]:
    """A share of the layers on every rank; the whole batch passes through, part after part."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    passed, loss, sent = [], batch.new_zeros(1), 0
    for part in batch.chunk(parts):
        stage_input = part
        if rank > 0:
            stage_input = _receive(part, rank - 1).requires_grad_()
        out = stage(stage_input)
        if rank < last:
            sent += _send(out.detach(), rank + 1)
        else:
            out = out.square().mean() / parts
            loss += out.detach()
        passed.append((stage_input, out))
    for stage_input, out in reversed(passed):
        out.backward(_receive(out, rank + 1) if rank < last else None)
        if rank > 0:
            sent += _send(stage_input.grad, rank - 1)
    dist.broadcast(loss, src=last)
    return loss, sent


def _send(tensor: Tensor, to: int) -> int:
    _finish(dist.P2POp(dist.isend, tensor, to))
    return tensor.nbytes


def _receive(like: Tensor, source: int) -> Tensor:
    received = torch.empty_like(like)
    _finish(dist.P2POp(dist.irecv, received, source))
    return received


def _finish(message: dist.P2POp) -> None:
    for work in dist.batch_isend_irecv([message]):  # outside one, torch < 2.15 warns
        work.wait()
