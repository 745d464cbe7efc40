"""What the checks of my_split do on each rank: its operators and layers next to whole ones."""

import gc
import importlib
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.tools.leaks import wait_until_settled
from course.checks.tools.loose_ends import late
from course.checks.tools.recorder import recorded
from course.given.sent import Traffic

SAMPLES, TOKENS, WIDTH, INNER = 2, 7, 5, 24  # 24 can be shared by 1, 2, 3 and 4 ranks
DTYPES = {"float32": torch.float32, "float64": torch.float64}
# By name: the class of a layer, its numbers of inputs, outputs and blocks.
LAYERS = {
    "ColumnLinear": ("ColumnLinear", WIDTH, INNER, 1),
    "RowLinear": ("RowLinear", INNER, WIDTH, 1),
    "ColumnLinear of 2 blocks": ("ColumnLinear", WIDTH, 2 * INNER, 2),
    "ColumnLinear of 3 blocks": ("ColumnLinear", WIDTH, 3 * INNER, 3),
}


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


def seeded(make: Callable, *sizes: object, **options: object) -> tuple[nn.Module, Tensor]:
    """A layer that is made after seed 0, and the random number that the next one would get."""
    torch.manual_seed(0)
    return make(*sizes, **options), torch.rand(1)


def started() -> dict[str, tuple[dict[str, Tensor], Tensor]]:
    """By layer: its shares on this rank, drawn after seed 0, and the next random number."""
    script, group, results = importlib.import_module("my_split"), dist.group.WORLD, {}
    for name, (kind, *sizes, blocks) in LAYERS.items():
        options = {} if blocks == 1 else {"blocks": blocks}
        layer, following = seeded(getattr(script, kind), *sizes, group, **options)
        shares = {kind: tensor.detach().clone() for kind, tensor in layer.named_parameters()}
        results[name] = shares, following
    return results


def network(groups: list[list[int]]) -> dict[str, Tensor]:
    """What an MLP of the learner's layers computes: its outputs and all its gradients.

    Each of the groups of ranks has inputs of its own.
    """
    script = importlib.import_module("my_split")
    group = dist.new_subgroups_by_enumeration(groups)[0]
    torch.manual_seed(0)
    up = script.ColumnLinear(WIDTH, INNER, group)
    torch.manual_seed(1)  # what one layer draws is not to change the other
    down = script.RowLinear(INNER, WIDTH, group)
    (place,) = (i for i, members in enumerate(groups) if dist.get_rank() in members)
    return _passes(up, down, place)


def whole(place: int = 0) -> dict[str, Tensor]:
    """The same of torch's own layers on one process, for the inputs of group `place`."""
    torch.manual_seed(0)
    up = nn.Linear(WIDTH, INNER)
    torch.manual_seed(1)
    return _passes(up, nn.Linear(INNER, WIDTH), place)


def _passes(up: nn.Module, down: nn.Module, place: int) -> dict[str, Tensor]:
    """The results of a pass over some samples, and of one over a single sample in eval mode."""
    gradient, results = drawn(SAMPLES, TOKENS, WIDTH, seed=3), {}
    for sample, mode in ((..., "train mode"), (0, "eval mode")):
        layers = nn.ModuleList([up, down]).train(mode == "train mode")
        layers.zero_grad()
        x = inputs(place)[sample].requires_grad_()
        y = down(torch.tanh(up(x)))
        y.backward(gradient[sample])
        shown = f"{mode}, inputs of {x.ndim} dimensions"
        results |= {f"{name} ({shown})": t for name, t in _results(x, y, up, down).items()}
    return results


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

    return wait_until_settled(left, most=shares), shares


def _alive() -> dict[int, int]:
    """The bytes of each storage that a tensor looks into."""
    gc.collect()
    storages = [t.untyped_storage() for t in gc.get_objects() if issubclass(type(t), Tensor)]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}
