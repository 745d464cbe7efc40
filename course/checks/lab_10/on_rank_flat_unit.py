"""What the checks of flat_unit do on each rank with a unit of its own."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.lab_10.on_rank_sharding import seeded

SHAPES = ((2, 3), (4,), (1, 7))  # 17 numbers: no number of ranks from 2 to 16 divides them
EVEN = ((3, 4), (12,))  # 24 numbers
TINY = ((1,),)  # fewer numbers than ranks


def unit(shapes: tuple[tuple[int, ...], ...] = SHAPES):
    """The learner's unit of some parameters, and those parameters."""
    parameters = [nn.Parameter(seeded(i, *shape)) for i, shape in enumerate(shapes)]
    return importlib.import_module("flat_unit").Unit(parameters), parameters


def flattened() -> list[tuple[list[float], list[float]]]:
    """What flatten() makes of some tensors, and the numbers that it should begin with."""
    seen = []
    for shapes in (EVEN, SHAPES, TINY):
        made, parameters = unit(shapes)
        tensors = [parameter.detach().clone() for parameter in parameters]
        expected = torch.cat([tensor.flatten() for tensor in tensors])
        seen.append((made.flatten(tensors).tolist(), expected.tolist()))
    return seen


def gathered() -> float:
    """How far the parameters are from the shards, of which each holds the number of its rank."""
    made, parameters = unit()
    with torch.no_grad():
        made.shard.fill_(dist.get_rank())
        made.gather()
        expected = torch.arange(dist.get_world_size()).repeat_interleave(len(made.shard)).float()
        return _difference(torch.cat([p.detach().flatten() for p in parameters]), expected)


def _difference(got: Tensor, expected: Tensor) -> float:
    return float((got - expected[: len(got)]).abs().max())


def _average(dtype: torch.dtype) -> Tensor:
    """The average over the ranks of what `_gradients` gives each, flat."""
    ranks = range(dist.get_world_size())
    of_rank = [torch.cat([g.flatten() for g in _gradients(rank, dtype)]).float() for rank in ranks]
    return torch.stack(of_rank).mean(0)


def _gradients(rank: int, dtype: torch.dtype) -> list[Tensor]:
    return [seeded(100 * rank + i, *shape).to(dtype) for i, shape in enumerate(SHAPES)]


def _reduce(dtype: torch.dtype) -> Tensor:
    """The gradient of the shard after reduce(), checked nowhere yet."""
    made, parameters = unit()
    for parameter, gradient in zip(parameters, _gradients(dist.get_rank(), dtype), strict=True):
        parameter.data = parameter.data.to(dtype)
        parameter.grad = gradient
    made.reduce()
    return made.shard.grad


def _mine(flat: Tensor, size: int) -> Tensor:
    """This rank's part of a flat tensor that is padded with zeros."""
    padded = torch.cat([flat, flat.new_zeros(size * dist.get_world_size() - len(flat))])
    return padded[size * dist.get_rank() : size * (dist.get_rank() + 1)]


def reduced() -> float:
    """How far the gradient of this rank's shard is from its part of the average."""
    got = _reduce(torch.float32)
    return _difference(got, _mine(_average(torch.float32), len(got)))


def overflowed() -> float:
    """The first number of this rank's averaged part; it is infinite in rank 1's gradient."""
    made, parameters = unit()
    for parameter, gradient in zip(parameters, _gradients(0, torch.float32), strict=True):
        parameter.grad = gradient
    if dist.get_rank() == 1:
        parameters[0].grad[0, 0] = torch.inf
    made.reduce()
    return float(made.shard.grad[0])


def reduced_from_bf16() -> tuple[str, float]:
    """The dtype of the gradient of this rank's shard, and how far it is from its part."""
    got = _reduce(torch.bfloat16)
    return str(got.dtype), _difference(got.float(), _mine(_average(torch.bfloat16), len(got)))
