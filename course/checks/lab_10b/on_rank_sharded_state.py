"""What the checks of sharded_state do on each rank."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.lab_10.on_rank_flat_unit import SHAPES
from course.checks.lab_10.on_rank_sharding import my_batch, seeded, whole_batch
from course.checks.tools.reference import OPTIMIZERS, Small, furthest, loss_of
from course.given import fsdp, sharded_checkpoint, units


class _Sharded(fsdp.HookedModel):
    """Sharded at rest, without the learner's `my_fsdp`, which is another check's matter.

    It gathers a layer for its forward, and frees it when its gradients are complete.
    """

    def before_forward(self, i: int) -> None:
        self.units[i].gather()

    def after_forward(self, i: int, output: Tensor) -> None:
        pass

    def gradient_ready(self, unit: units.ShardedUnit) -> None:
        unit.missing -= 1
        if unit.missing == 0:
            unit.free()
            unit.reduce()
            unit.missing = len(unit.parameters)


def _state():
    return importlib.import_module("sharded_state")


def _unit() -> units.Unit:
    """A unit whose numbers no number of ranks divides."""
    return units.Unit([nn.Parameter(seeded(i, *shape)) for i, shape in enumerate(SHAPES)])


def _shards() -> list[nn.Parameter]:
    """Two shards on this rank, with gradients that differ by rank, the last rank's largest."""
    rank = dist.get_rank()
    shards = [nn.Parameter(torch.zeros(size)) for size in (5, 3)]
    for i, shard in enumerate(shards):
        shard.grad = _gradient(rank, i)
    return shards


def _gradient(rank: int, i: int) -> Tensor:
    return seeded(10 * rank + i, 5 - 2 * i) * (rank + 1)


def _all_gradients() -> list[Tensor]:
    return [_gradient(rank, i) for rank in range(dist.get_world_size()) for i in (0, 1)]


def clipped(share: float) -> tuple[str, float, float, float]:
    """Clip to `share` of the norm: the type of the norm that is returned, its value, the true
    one, and how far gradients are off.
    """
    norm = torch.cat(_all_gradients()).norm().item()
    shards = _shards()
    said = _state().clip_grad_norm(shards, share * norm)
    wanted = [_gradient(dist.get_rank(), i) * min(1.0, share) for i in (0, 1)]
    off = furthest([shard.grad for shard in shards], wanted)
    return type(said).__name__, float(said), norm, off


def overflowed() -> float:
    """The norm that is returned when a gradient on the last rank has an infinite number."""
    shards = _shards()
    if dist.get_rank() == dist.get_world_size() - 1:
        shards[0].grad[0] = torch.inf
    return float(_state().clip_grad_norm(shards, 1.0))


def gathered() -> tuple[list[tuple], list[tuple], float]:
    """The shapes that whole() gives, those wanted, and how far its numbers are off."""
    made = _unit()
    wanted = [seeded(i, *shape) for i, shape in enumerate(SHAPES)]
    tensors = _state().whole(made, made.shard.detach())
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if shapes != list(SHAPES):
        return shapes, list(SHAPES), 0.0
    return shapes, list(SHAPES), furthest([tensor.detach() for tensor in tensors], wanted)


def cut() -> tuple[int, int, float, int]:
    """The length of this rank's part and the wanted one, how far it is off, and its memory."""
    made = _unit()
    tensors = [seeded(i, *shape) for i, shape in enumerate(SHAPES)]
    mine = _state().part(made, tensors).detach()
    if len(mine) != len(made.shard):
        return len(mine), len(made.shard), 0.0, 0
    off = float((mine - made.shard.detach()).abs().max())
    return len(mine), len(made.shard), off, mine.untyped_storage().nbytes()


def train(first: int, last: int, state: dict | None = None, kind: str = "plain") -> dict:
    """Steps from `first` to `last` with AdamW and clipping, begun with a state; what is saved."""
    model = Small(seed=0, kind=kind)
    net = _Sharded(model, list(model.layers))
    updates = OPTIMIZERS["AdamW"](net.shards())
    if state is not None:
        sharded_checkpoint.load(net, updates, state, _state().part)
    for step in range(first, last):
        updates.zero_grad()
        loss_of(net, my_batch(step)).backward()
        _state().clip_grad_norm(net.shards(), 0.5)
        updates.step()
    return sharded_checkpoint.save(net, updates, _state().whole)


def train_alone(steps: int, kind: str = "plain") -> dict[str, Tensor]:
    """One process on the whole batch, by name of the parameter."""
    model = Small(seed=0, kind=kind)
    updates = OPTIMIZERS["AdamW"](model.parameters())
    for step in range(steps):
        updates.zero_grad()
        loss_of(model, whole_batch(step)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        updates.step()
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
