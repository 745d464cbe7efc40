"""What the checks of my_split do on each rank: its operators and layers beside whole ones."""

import gc
import importlib
from collections.abc import Callable
from unittest import mock

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.checks.engine.recorder import RECORDED, recorded

SAMPLES, TOKENS, WIDTH, INNER = 2, 7, 5, 24  # 24 can be shared by 1, 2, 3 and 4 ranks
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def drawn(*shape: int, seed: int) -> Tensor:
    """Random numbers that are the same wherever they are drawn."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def numbers(dtype: str, seed: int) -> Tensor:
    """What an operator gets. In float64: an infinity, and more digits than float32 has."""
    given = drawn(3, 4, seed=seed).to(DTYPES[dtype])
    if dtype == "float64":
        given *= 1e6
        given[0, 0] = torch.inf
    return given


class Late:
    """A handle that `dist.all_reduce` could return: as late as can be, when one waits for it."""

    def __init__(self, start: Callable[[], None]) -> None:
        self.wait = start


def operators() -> dict[str, Tensor]:
    """What Enter and Leave return and give back as gradients, on numbers that differ by rank."""
    script, rank, group = importlib.import_module("my_split"), dist.get_rank(), dist.group.WORLD
    all_reduce, found = dist.all_reduce, {}

    def late(x: Tensor, op=dist.ReduceOp.SUM, group=None, async_op: bool = False) -> Late | None:
        handle = Late(lambda *_: all_reduce(x, op, group))
        return handle if async_op else handle.wait()

    for name in ("Enter", "Leave"):
        for dtype in DTYPES:
            x, gradient = numbers(dtype, rank), numbers(dtype, 100 + rank)
            given, kept = x.clone(), gradient.clone()
            with mock.patch.object(dist, "all_reduce", late):
                y = getattr(script, name).apply(x.requires_grad_(), group)
                (back,) = torch.autograd.grad(y, x, gradient)
            found[f"{name} forward {dtype}"] = y.detach().clone()
            found[f"{name} backward {dtype}"] = back.clone()
            found[f"{name} argument {dtype}"] = x.detach() == given
            found[f"{name} gradient {dtype}"] = gradient == kept
    return found


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
    return _found(x, y, up, down)


def whole(place: int = 0) -> dict[str, Tensor]:
    """The same of torch's own layers on one process, for the inputs of group `place`."""
    torch.manual_seed(0)
    up, down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
    x = inputs(place).requires_grad_()
    y = down(torch.tanh(up(x)))
    y.backward(drawn(SAMPLES, TOKENS, WIDTH, seed=3))
    return _found(x, y, up, down)


def inputs(place: int) -> Tensor:
    """The inputs of the ranks of group `place`."""
    return drawn(SAMPLES, TOKENS, WIDTH, seed=10 + place)


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
    """What an MLP sends in forward and in backward, and the groups that it makes for it."""
    script, group = importlib.import_module("my_split"), dist.group.WORLD
    up, down = script.ColumnLinear(WIDTH, INNER, group), script.RowLinear(INNER, WIDTH, group)
    with recorded(*RECORDED, "new_group") as forward:
        y = down(torch.tanh(up(inputs(0).requires_grad_())))
    with recorded(*RECORDED, "new_group") as backward:
        y.sum().backward()
    return forward, backward


def held() -> tuple[int, int]:
    """Bytes of the tensors that both layers keep alive when a step is over, and of their shares.

    Nothing is sent: a thread of Gloo may hold a message for a moment after it has arrived.
    """
    script, group, before = importlib.import_module("my_split"), dist.group.WORLD, _alive()
    up, down = script.ColumnLinear(WIDTH, INNER, group), script.RowLinear(INNER, WIDTH, group)
    with mock.patch.object(dist, "all_reduce", lambda *_, **__: Late(lambda *_: None)):
        down(torch.tanh(up(inputs(0).requires_grad_()))).sum().backward()
    nn.ModuleList([up, down]).zero_grad()
    left = [size for storage, size in _alive().items() if storage not in before]
    shares = [up.weight, up.bias, down.weight, down.bias]
    return sum(left), sum(share.nbytes for share in shares)


def _alive() -> dict[int, int]:
    """The bytes of each storage that a tensor looks into."""
    gc.collect()
    storages = [t.untyped_storage() for t in gc.get_objects() if issubclass(type(t), Tensor)]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}


def _group(groups: int) -> dist.ProcessGroup:
    """This rank's group, of as many as there are."""
    return dist.new_subgroups(group_size=dist.get_world_size() // groups)[0]
