"""Checkpoints of a model sharded by hand: by parameter name, for any number of ranks."""

from collections.abc import Callable

from torch import Tensor, nn
from torch.optim import Optimizer

from course.given.fsdp import HookedModel
from course.given.units import Unit

State = dict[str, dict[str, Tensor]]  # by name of a parameter: its value, and its optimizer state


def save(
    model: HookedModel, optimizer: Optimizer, whole: Callable[[Unit, Tensor], list[Tensor]]
) -> State:
    """The state of a model and its optimizer, independent of the number of ranks."""
    name_of, state = _names(model), {}
    for unit in (*model.outer, *model.units):
        entries = {"value": unit.shard.detach()} | optimizer.state[unit.shard]
        for key, tensor in entries.items():
            # AdamW also counts its steps: a single number, the same for all.
            tensors = whole(unit, tensor) if tensor.dim() else [tensor] * len(unit.parameters)
            for parameter, value in zip(unit.parameters, tensors, strict=True):
                state.setdefault(name_of[parameter], {})[key] = value.cpu()
    return state


def load(
    model: HookedModel,
    optimizer: Optimizer,
    state: State,
    part: Callable[[Unit, list[Tensor]], Tensor],
) -> None:
    """Load a state that `save` returned, on any number of ranks."""
    name_of = _names(model)
    for unit in (*model.outer, *model.units):
        saved = [state[name_of[parameter]] for parameter in unit.parameters]
        for key in saved[0]:
            tensors = [entry[key].to(unit.shard.device) for entry in saved]
            if key == "value":
                unit.shard.data = part(unit, tensors)
            elif any(tensor.dim() for tensor in tensors):
                optimizer.state[unit.shard][key] = part(unit, tensors)
            else:
                optimizer.state[unit.shard][key] = saved[0][key]


def _names(model: HookedModel) -> dict[nn.Parameter, str]:
    return {parameter: name for name, parameter in model.module.named_parameters()}
