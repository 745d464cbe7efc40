"""What the checks of lab 10 share on each rank: what travels, and training of sharded models."""

import gc
import importlib
from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.tools.leaks import wait_until_settled
from course.checks.tools.reference import OPTIMIZERS, Small, batch, loss_of, weights
from course.given import memory as counted
from course.given.sent import Traffic

ADAMW = "AdamW"
Case = tuple[str, str]  # the kind of a model, the name of an optimizer
BOOKKEEPING = 64  # bytes that a way may keep for itself, such as the ranks of a device mesh
BATCHES = 6  # parts of a step's batch, shared out over any number of ranks


def my_batch(step: int) -> tuple[Tensor, Tensor]:
    """This rank's part of the batch of one step, which is the same for any number of ranks."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    return _joined([batch(step, i) for i in range(BATCHES)][rank::ranks])


def whole_batch(step: int) -> tuple[Tensor, Tensor]:
    """The batch of one step, as one process trains on it."""
    return _joined([batch(step, i) for i in range(BATCHES)])


def _joined(parts: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    return tuple(torch.cat(column) for column in zip(*parts, strict=True))


def start(kind: str) -> Small:
    """A model whose weights differ by rank; frozen ones are equal."""
    return Small(seed=0 if kind == "frozen" else dist.get_rank(), kind=kind)


def zero_two(model: nn.Module) -> tuple[nn.Module, Callable[[], None]]:
    """The lesson's ZeRO-2 around a model, and what follows each update."""
    net = importlib.import_module("zero_two").ZeroTwo(model, list(model.layers))
    return net, net.gather


def fsdp(model: nn.Module, **options: object) -> tuple[nn.Module, Callable[[], None]]:
    """The learner's FSDP around a model."""
    net = importlib.import_module("my_fsdp").FSDP(model, list(model.layers), **options)
    return net, lambda: None


MAKERS = {"flat_unit": zero_two, "my_fsdp": fsdp}


def units_of(net: nn.Module) -> list:
    """All units of a sharded model, the outer one first."""
    return [*getattr(net, "outer", []), *net.units]


def whole_weights(net: nn.Module) -> list[Tensor]:
    """The parameters and buffers, gathered if they are sharded."""
    for unit in units_of(net):
        unit.gather()
    return [tensor.float() for tensor in weights(net.module)]


def train(exercise: str, cases: Sequence[Case], steps: int = 3, passes: int = 1) -> dict:
    """By case: this rank's weights after some steps on its own batches."""
    rank, trained = dist.get_rank(), {}
    for kind, name in cases:
        net, after = MAKERS[exercise](start(kind))
        optimizer = OPTIMIZERS[name](net.shards())
        for step in range(steps):
            optimizer.zero_grad()
            for part in range(passes):
                (loss_of(net, batch(step * passes + part, rank)) / passes).backward()
            optimizer.step()
            after()
        trained[kind, name] = whole_weights(net)
    return trained


def traffic(exercise: str) -> tuple[list[tuple[str, int]], int, dict[str, int], int]:
    """The collectives of one step, what they send, the padded bytes of outer and inner units, and
    the number of units.

    The first step is not counted: a model may do things once.
    """
    net, after = MAKERS[exercise](Small(seed=0))
    optimizer = OPTIMIZERS[ADAMW](net.shards())
    for step in range(2):
        with Traffic() as seen:
            optimizer.zero_grad()
            loss_of(net, batch(step, dist.get_rank())).backward()
            optimizer.step()
            after()
    of_layers = sum(unit.shard.nbytes for unit in net.units) * dist.get_world_size()
    outer = sum(unit.shard.nbytes for unit in getattr(net, "outer", [])) * dist.get_world_size()
    calls = [(message.name, message.nbytes) for message in seen.messages]
    return calls, seen.units, {"layers": of_layers, "outer": outer}, len(units_of(net))


def memory(exercise: str) -> tuple[int, int]:
    """The bytes that are alive after four steps, and those that must be.

    These are the shards, their gradients and AdamW's two moments; the weights too, where they are
    whole at rest; and whatever is not sharded.
    """
    with counted.Account() as account:
        net, after = MAKERS[exercise](Small(seed=0))
        optimizer = OPTIMIZERS[ADAMW](net.shards())
        for step in range(4):
            optimizer.zero_grad()
            loss_of(net, batch(step, dist.get_rank())).backward()
            optimizer.step()
            after()
    needed = sum(4 * u.shard.nbytes + u.full.untyped_storage().nbytes() for u in units_of(net))
    needed += sum(entry["step"].nbytes for entry in optimizer.state.values())
    needed += counted.held(net.module.buffers())
    needed += BOOKKEEPING
    gc.collect()
    return wait_until_settled(lambda: account.alive, most=needed), needed


def gradients_left(exercise: str) -> int:
    """How many parameters still have a whole gradient after backward."""
    net, _ = MAKERS[exercise](Small(seed=0))
    loss_of(net, batch(0, dist.get_rank())).backward()
    return sum(parameter.grad is not None for parameter in net.module.parameters())


def seeded(seed: int, *shape: int) -> Tensor:
    """Random numbers, the same wherever they are made."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
