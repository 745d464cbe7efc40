"""What the checks of instruments do on each rank."""

import importlib
from collections.abc import Callable
from unittest.mock import patch

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import distributed_c10d

from course.checks.lab_04.on_rank_files import difference
from course.checks.lab_04b.on_rank_clinic import impatient, normed
from course.checks.tools.recorder import recorded
from course.core import insides

FEW = 4096  # bytes


def _load() -> object:
    """The learner's module; its `hash` differs on each rank where it would under torchrun."""
    module = importlib.import_module("instruments")
    module.hash = _salted
    return module


def _salted(value: object) -> int:
    """A hash that depends on the process for strings and bytes, and for tuples of them.

    See https://docs.python.org/3/reference/datamodel.html#object.__hash__.
    """
    if isinstance(value, (str, bytes, memoryview)):
        return hash((dist.get_rank(), value))
    if isinstance(value, tuple):
        return hash(tuple(map(_salted, value)))
    return hash(value)


def _model() -> nn.Module:
    """A model with parameters of three dtypes, one without dimensions, and two that are frozen."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 3), nn.Linear(3, 2, dtype=torch.bfloat16))
    model.scale = nn.Parameter(torch.tensor(1.0))
    model.precise = nn.Parameter(torch.tensor([0.5], dtype=torch.float64))
    model.frozen = nn.Parameter(torch.arange(4.0), requires_grad=False)
    model.reversed = nn.Parameter(model.frozen.flip(0), requires_grad=False)
    return model


def _one_bit(model: nn.Module) -> None:
    weight = model[0].weight.view(-1)
    weight[7] = torch.nextafter(weight[7], torch.tensor(torch.inf))


def _swap(model: nn.Module) -> None:
    weight = model[0].weight.view(-1)
    weight[[2, 9]] = weight[[9, 2]]


def _last_layer(model: nn.Module) -> None:
    model[1].bias[1] = 0.75


def _scalar(model: nn.Module) -> None:
    model.scale.fill_(2.0)


def _precise(model: nn.Module) -> None:
    model.precise += 1e-12


def _frozen(model: nn.Module) -> None:
    model.frozen[0] = 0.5


def _swap_parameters(model: nn.Module) -> None:
    model.frozen.copy_(model.reversed)
    model.reversed.copy_(model.frozen.flip(0))


def _nan(model: nn.Module) -> None:
    model[0].weight[1] = torch.nan


CASES: tuple[tuple[str, Callable | None, tuple[int, ...], list[int]], ...] = (
    ("nothing differs", None, (), []),
    ("rank 2 differs by one bit", _one_bit, (2,), [2]),
    ("on rank 1 two weights have changed places", _swap, (1,), [1]),
    ("on rank 1 a bias of the last layer differs", _last_layer, (1,), [1]),
    ("ranks 1 and 2 have another scale", _scalar, (1, 2), [1, 2]),
    ("rank 0 alone has another scale", _scalar, (0,), [1, 2]),
    ("on rank 2 a float64 weight differs by 1e-12", _precise, (2,), [2]),
    ("on rank 1 a frozen weight differs", _frozen, (1,), [1]),
    ("on rank 2 two parameters have changed places", _swap_parameters, (2,), [2]),
    ("all ranks have the same NaN", _nan, (0, 1, 2), []),
)


def apart() -> list[tuple[str, list[int], list[int]]]:
    """For each case: what differs, the ranks that the function names, and the right ones."""
    module, results = _load(), []
    for change, apply, ranks, expected in CASES:
        model = _model()
        if dist.get_rank() in ranks:
            with torch.no_grad():
                apply(model)
        with impatient():
            results.append((change, sorted(module.ranks_apart(model)), expected))
    return results


def other_buffers() -> list[int]:
    """The ranks that the function names where only the buffers of batch norm differ."""
    model = normed(0)
    model[1].running_mean.fill_(float(dist.get_rank()))
    with impatient():
        return list(_load().ranks_apart(model))


def cost() -> tuple[int, str]:
    """The bytes that this rank sends for a large model, and how it differs afterwards."""
    torch.manual_seed(0)
    model, objects = nn.Linear(100, 1000), []
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    real = insides.inside(distributed_c10d, "_object_to_tensor")

    def measured(*arguments: object) -> tuple:
        tensor, size = real(*arguments)
        objects.append(tensor.numel())
        return tensor, size

    measuring = patch.object(distributed_c10d, "_object_to_tensor", measured)
    with impatient(), recorded() as calls, measuring:
        _load().ranks_apart(model)
    changed = difference(dict(model.state_dict()), before, "the model")
    if not model.training:
        changed = "it is in evaluation mode"
    return sum(objects) + sum(call.nbytes for call in calls), changed


def slowest(seconds: list[list[float]]) -> list[tuple[int, float]]:
    """What `slowest` returns for each list of times, one per rank."""
    module, results = _load(), []
    for times in seconds:
        with impatient():
            results.append(tuple(module.slowest(times[dist.get_rank()])))
    return results
