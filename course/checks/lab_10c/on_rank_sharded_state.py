"""What the checks of sharded_state do on each rank."""

import importlib

from torch import Tensor, nn

from course.checks.lab_10.on_rank_flat_unit import SHAPES
from course.checks.lab_10.on_rank_sharding import my_batch, seeded, whole_batch
from course.checks.tools.reference import OPTIMIZERS, Small, furthest, loss_of
from course.given import fsdp, sharded_checkpoint, units


def _state():
    return importlib.import_module("sharded_state")


def _unit() -> units.Unit:
    """A unit whose numbers no number of ranks divides."""
    return units.Unit([nn.Parameter(seeded(i, *shape)) for i, shape in enumerate(SHAPES)])


def gathered() -> tuple[list[tuple], list[tuple], float]:
    """The shapes that whole() gives, those wanted, and how far its numbers are off."""
    made = _unit()
    expected = [seeded(i, *shape) for i, shape in enumerate(SHAPES)]
    tensors = _state().whole(made, made.shard.detach())
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if shapes != list(SHAPES):
        return shapes, list(SHAPES), 0.0
    return shapes, list(SHAPES), furthest([tensor.detach() for tensor in tensors], expected)


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
    """Steps from `first` to `last` with AdamW, begun with a state; what is saved."""
    model = Small(seed=0, kind=kind)
    net = fsdp.PlainFSDP(model, list(model.layers))
    updates = OPTIMIZERS["AdamW"](net.shards())
    if state is not None:
        sharded_checkpoint.load(net, updates, state, _state().part)
    for step in range(first, last):
        updates.zero_grad()
        loss_of(net, my_batch(step)).backward()
        updates.step()
    return sharded_checkpoint.save(net, updates, _state().whole)


def train_alone(steps: int, kind: str = "plain") -> dict[str, Tensor]:
    """One process on the whole batch, by name of the parameter."""
    model = Small(seed=0, kind=kind)
    updates = OPTIMIZERS["AdamW"](model.parameters())
    for step in range(steps):
        updates.zero_grad()
        loss_of(model, whole_batch(step)).backward()
        updates.step()
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
