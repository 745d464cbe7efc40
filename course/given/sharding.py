"""The start of sharded models: equal weights, and the parameters that travel together.

The three ways of lab 10 that shard layer by layer share it.
"""

from collections import defaultdict
from collections.abc import Sequence

import torch.distributed as dist
from torch import Tensor, nn

from course.core import CourseError


def same_start(model: nn.Module) -> None:
    """Give every rank the parameters and buffers of rank 0, as DDP's constructor does."""
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), src=0)


def by_unit(model: nn.Module, layers: Sequence[nn.Module]) -> list[list[nn.Parameter]]:
    """The trained parameters of each layer; first those of no layer, or of more than one.

    Raises CourseError if `layers` contains a layer twice, or anything not a module of the model.
    """
    inside = set(model.modules())
    for place, layer in enumerate(layers):
        if layer not in inside:
            raise CourseError(
                f"layers[{place}] is not a module of the model: "
                "give the model's own layers, in the order of their forward."
            )
    if len(set(layers)) < len(layers):
        raise CourseError("A layer is in `layers` twice: give each layer once.")
    users = _users(model, layers)
    own = [[p for p in users if users[p] == {layer}] for layer in layers]
    taken = {parameter for part in own for parameter in part}
    return [[parameter for parameter in users if parameter not in taken], *own]


def _users(
    model: nn.Module, layers: Sequence[nn.Module]
) -> dict[nn.Parameter, set[nn.Module | None]]:
    """The layers that use each trained parameter; None stands for the rest of the model."""
    layers_of, users = defaultdict(set), defaultdict(set)
    for layer in layers:
        for module in layer.modules():
            layers_of[module].add(layer)
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad:
                users[parameter] |= layers_of.get(module, {None})
    return users


def one_tensor(layer: int, output: object) -> Tensor:
    """The output of a layer; its gradient shows when the layer's backward begins.

    Raises CourseError if it is anything but one tensor.
    """
    if not isinstance(output, Tensor):
        raise CourseError(
            f"layers[{layer}] returned a {type(output).__name__}: "
            "a layer that is sharded must return one tensor."
        )
    return output
