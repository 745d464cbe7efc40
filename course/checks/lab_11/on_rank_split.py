"""What the checks of my_split do on each rank: its operators and layers beside whole ones."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.engine.recorder import recorded

WIDTH, INNER, SAMPLES = 5, 24, 7  # 24 can be shared by 1, 2, 3 and 4 ranks


def drawn(*shape: int, seed: int) -> Tensor:
    """Random numbers that are the same wherever they are drawn."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def operators() -> dict[str, Tensor]:
    """What Enter and Leave return and give back as gradients, on numbers that differ by rank."""
    script, rank, group = importlib.import_module("my_split"), dist.get_rank(), dist.group.WORLD
    found = {}
    for name in ("Enter", "Leave"):
        x = drawn(3, 4, seed=rank).requires_grad_()
        given, gradient = x.detach().clone(), drawn(3, 4, seed=100 + rank)
        y = getattr(script, name).apply(x, group)
        kept = gradient.clone()
        (back,) = torch.autograd.grad(y, x, gradient)
        found |= {f"{name} forward": y.detach().clone(), f"{name} backward": back.clone()}
        found[f"{name} argument"] = x.detach() - given
        found[f"{name} gradient"] = gradient - kept
    return found


def started(groups: int) -> dict[str, Tensor]:
    """The shares of the layers on this rank, as drawn after seed 0."""
    script, group = importlib.import_module("my_split"), _group(groups)
    torch.manual_seed(0)
    layers = {
        "ColumnLinear": script.ColumnLinear(WIDTH, INNER, group),
        "RowLinear": script.RowLinear(INNER, WIDTH, group),
        "ColumnLinear of 3 blocks": script.ColumnLinear(WIDTH, 3 * INNER, group, blocks=3),
    }
    return {
        f"{name}: {kind}": tensor.detach().clone()
        for name, layer in layers.items()
        for kind, tensor in layer.named_parameters()
    }


def network(groups: int = 1) -> dict[str, Tensor]:
    """What an MLP of the learner's layers computes: its output and all its gradients.

    With more `groups`, each group of ranks has inputs of its own.
    """
    script, group = importlib.import_module("my_split"), _group(groups)
    torch.manual_seed(0)
    up, down = script.ColumnLinear(WIDTH, INNER, group), script.RowLinear(INNER, WIDTH, group)
    x = inputs(dist.get_rank() // dist.get_world_size(group)).requires_grad_()
    y = down(torch.tanh(up(x)))
    y.backward(drawn(SAMPLES, WIDTH, seed=3))
    return _found(x, y, up, down)


def whole(place: int = 0) -> dict[str, Tensor]:
    """The same of torch's own layers on one process, for the inputs of group `place`."""
    torch.manual_seed(0)
    up, down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
    x = inputs(place).requires_grad_()
    y = down(torch.tanh(up(x)))
    y.backward(drawn(SAMPLES, WIDTH, seed=3))
    return _found(x, y, up, down)


def inputs(place: int) -> Tensor:
    """The inputs of the ranks of group `place`."""
    return drawn(SAMPLES, WIDTH, seed=10 + place)


def _found(x: Tensor, y: Tensor, up: nn.Module, down: nn.Module) -> dict[str, Tensor]:
    found = {"output": y.detach(), "gradient of the input": x.grad}
    for name, layer in (("ColumnLinear", up), ("RowLinear", down)):
        for kind, parameter in layer.named_parameters():
            found[f"gradient of {name}.{kind}"] = parameter.grad
    return found


def blocks() -> Tensor:
    """This rank's outputs of a column-split layer of 3 blocks."""
    torch.manual_seed(0)
    script = importlib.import_module("my_split")
    layer = script.ColumnLinear(WIDTH, 3 * INNER, dist.group.WORLD, blocks=3)
    return layer(inputs(0)).detach()


def messages() -> tuple[list, list]:
    """What an MLP sends in forward and in backward."""
    script, group = importlib.import_module("my_split"), dist.group.WORLD
    up, down = script.ColumnLinear(WIDTH, INNER, group), script.RowLinear(INNER, WIDTH, group)
    with recorded() as forward:
        y = down(torch.tanh(up(inputs(0).requires_grad_())))
    with recorded() as backward:
        y.sum().backward()
    return forward, backward


def _group(groups: int) -> dist.ProcessGroup:
    """This rank's group, of as many as there are."""
    return dist.new_subgroups(group_size=dist.get_world_size() // groups)[0]
