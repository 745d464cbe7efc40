"""What the checks of my_split do on each rank: its operators and layers next to whole ones."""

import gc
import importlib

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.tools.leaks import settled
from course.checks.tools.loose_ends import late
from course.checks.tools.recorder import recorded
from course.given.sent import Traffic

SAMPLES, TOKENS, WIDTH, INNER = 2, 7, 5, 24  # 24 can be shared by 1, 2, 3 and 4 ranks
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def drawn(*shape: int, seed: int) -> Tensor:
    """Random numbers that are the same wherever they are drawn."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def numbers(dtype: str, seed: int) -> Tensor:
    """What an operator gets. In float64: an infinity, and more digits than float32 has."""
    x = drawn(3, 4, seed=seed).to(DTYPES[dtype])
    if dtype == "float64":
        x *= 1e6
        x[0, 0] = torch.inf
    return x


def operators() -> dict[str, Tensor]:
    """What Enter and Leave return and give back as gradients, on numbers that differ by rank."""
    script, rank, group = importlib.import_module("my_split"), dist.get_rank(), dist.group.WORLD
    results = {}
    for name in ("Enter", "Leave"):
        for dtype in DTYPES:
            x, gradient = numbers(dtype, rank), numbers(dtype, 100 + rank)
            x_before, gradient_before = x.clone(), gradient.clone()
            with late():
                y = getattr(script, name).apply(x.requires_grad_(), group)
                (back,) = torch.autograd.grad(y, x, gradient)
            results[f"{name} forward {dtype}"] = y.detach().clone()
            results[f"{name} backward {dtype}"] = back.clone()
            results[f"{name} argument {dtype}"] = x.detach() == x_before
            results[f"{name} gradient {dtype}"] = gradient == gradient_before
    return results


def started() -> dict[str, Tensor]:
    """The shares of the layers on this rank, as drawn after seed 0."""
    script, group = importlib.import_module("my_split"), dist.group.WORLD
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
    y.backward(drawn(SAMPLES, TOKENS, WIDTH, seed=3))
    return _results(x, y, up, down)


def whole(place: int = 0) -> dict[str, Tensor]:
    """The same of torch's own layers on one process, for the inputs of group `place`."""
    torch.manual_seed(0)
    up, down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
    x = inputs(place).requires_grad_()
    y = down(torch.tanh(up(x)))
    y.backward(drawn(SAMPLES, TOKENS, WIDTH, seed=3))
    return _results(x, y, up, down)


def inputs(place: int) -> Tensor:
    """The inputs of the ranks of group `place`."""
    return drawn(SAMPLES, TOKENS, WIDTH, seed=10 + place)


def _results(x: Tensor, y: Tensor, up: nn.Module, down: nn.Module) -> dict[str, Tensor]:
    """Copies, since a functional collective returns a tensor that waits for its numbers."""
    results = {"output": y.detach(), "gradient of the input": x.grad}
    for name, layer in (("ColumnLinear", up), ("RowLinear", down)):
        for kind, parameter in layer.named_parameters():
            results[f"gradient of {name}.{kind}"] = parameter.grad
    return {name: tensor if tensor is None else tensor.clone() for name, tensor in results.items()}


def blocks() -> Tensor:
    """This rank's outputs of a column-split layer of 3 blocks."""
    torch.manual_seed(0)
    script = importlib.import_module("my_split")
    layer = script.ColumnLinear(WIDTH, 3 * INNER, dist.group.WORLD, blocks=3)
    return layer(inputs(0)).detach()


def messages() -> dict[str, list[tuple]]:
    """What an MLP sends in forward and in backward: names, elements and ranks."""
    script, group = importlib.import_module("my_split"), dist.group.WORLD
    up, down = script.ColumnLinear(WIDTH, INNER, group), script.RowLinear(INNER, WIDTH, group)
    with recorded("new_group") as made:
        with Traffic() as forward:
            y = down(torch.tanh(up(inputs(0).requires_grad_())))
        with Traffic() as backward:
            y.sum().backward()
    assert not made, "it makes a process group in each pass; the one that it is given will do"
    seen = {"forward": forward.messages, "backward": backward.messages}
    return {when: [(m.name, m.elements, m.ranks) for m in sent] for when, sent in seen.items()}


def held() -> tuple[int, int]:
    """Bytes of the tensors that both layers keep alive when a step is over, and of their shares."""
    script, group, before = importlib.import_module("my_split"), dist.group.WORLD, _alive()
    up, down = script.ColumnLinear(WIDTH, INNER, group), script.RowLinear(INNER, WIDTH, group)
    x = inputs(0).requires_grad_()
    down(torch.tanh(up(x))).sum().backward()
    x.grad.sum()  # reading a gradient waits for its message, which is then over
    del x
    nn.ModuleList([up, down]).zero_grad()
    shares = sum(share.nbytes for share in (up.weight, up.bias, down.weight, down.bias))

    def left() -> int:
        return sum(size for storage, size in _alive().items() if storage not in before)

    return settled(left, most=shares), shares


def _alive() -> dict[int, int]:
    """The bytes of each storage that a tensor looks into."""
    gc.collect()
    storages = [t.untyped_storage() for t in gc.get_objects() if issubclass(type(t), Tensor)]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}


def _group(groups: int) -> dist.ProcessGroup:
    """This rank's group, of as many as there are."""
    return dist.new_subgroups(group_size=dist.get_world_size() // groups)[0]
