"""What the checks of `my_autocast` do, in one process."""

import importlib
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NAN = float("nan")


def own_autocast(dtype: torch.dtype = torch.bfloat16) -> object:
    """The learner's `Autocast`."""
    return importlib.import_module("my_autocast").Autocast(dtype)


def _formats(results: dict[str, Tensor]) -> dict[str, str]:
    return {name: str(result.dtype).removeprefix("torch.") for name, result in results.items()}


def low() -> dict[str, tuple[dict[str, str], float]]:
    """By format of the mode: the formats in which products come out, and (2049, -2048) @ (1, 1)."""
    x, image = torch.randn(2, 4, 4), torch.randn(1, 1, 4, 4)
    layer, pair = nn.Linear(4, 4), torch.tensor([[2049.0, -2048.0]])
    formats = {}
    for dtype in (torch.bfloat16, torch.float16):
        with own_autocast(dtype):
            results = {
                "nn.Linear": layer(x),
                "torch.matmul": torch.matmul(x, x),
                "@": x @ x,
                "bmm": torch.bmm(x, x),
                "conv2d": F.conv2d(image, image),
                "einsum": torch.einsum("bij,bjk->bik", x, x),
                "@ of float16": x.half() @ x.half(),
                "@ of bfloat16": x.bfloat16() @ x.bfloat16(),
            }
            difference = (pair @ torch.ones(2, 1)).item()
        formats[str(dtype).removeprefix("torch.")] = _formats(results), difference
    return formats


def full() -> tuple[dict[str, str], float]:
    """The formats that tensors of 16 bits have after operations that need 32, and a large sum."""
    labels, formats = torch.zeros(64, dtype=torch.long), {}
    for dtype in (torch.bfloat16, torch.float16):
        h = torch.full((64, 64), 32.0, dtype=dtype)
        with own_autocast(dtype):
            results = {
                "softmax": h.softmax(-1),
                "F.log_softmax": F.log_softmax(h, -1),
                "layer_norm": F.layer_norm(h, (64,)),
                "exp": torch.exp(input=h),
                "sum": h.sum(),
                "cross_entropy": F.cross_entropy(h, labels),
                "mse_loss": F.mse_loss(h, h),
            }
        named = _formats(results).items()
        formats |= {f"{name} of {str(dtype).removeprefix('torch.')}": got for name, got in named}
    return formats, results["sum"].item()


def others() -> dict[str, str]:
    """The formats in which operations on neither list leave what they get."""
    x, table = torch.randn(4, 4), nn.Embedding(5, 4)
    with own_autocast():
        results = {
            "relu of 32 bits": x.relu(),
            "relu of 16": x.bfloat16().relu(),
            "embedding": table(torch.tensor([1, 2])),
            "16 + 32 bits": x.bfloat16() + x,
            "integers": torch.arange(3) * 2,
            "cumsum of 16": x.bfloat16().cumsum(0),
            "expand of 16": x.bfloat16().expand(2, 4, 4),
        }
    return _formats(results)


class Container(NamedTuple):
    """A container that takes its entries one by one."""

    first: Tensor
    second: Tensor


def arguments() -> dict[str, object]:
    """What `cast` makes of nested arguments, and whether keyword arguments are cast."""
    x, exact = torch.randn(4, 4), torch.randn(4, 4, dtype=torch.float64)
    mask, labels = torch.ones(4, dtype=torch.bool), torch.arange(4)
    waves = torch.ones(4, dtype=torch.complex64)
    module = importlib.import_module("my_autocast")
    arguments = (x, [x, mask, [x]], {"weight": x, "more": [(x, waves)]}, labels, "mean", None, 0.5)
    nested = module.cast(arguments, torch.bfloat16)
    try:
        named = module.cast(Container(x, labels), torch.bfloat16)
        pair = f"a {type(named).__name__} with {named.first.dtype} and {named.second.dtype}"
    except (TypeError, AttributeError) as error:
        pair = f"{type(error).__name__}: {error}"
    with own_autocast():
        keywords = F.linear(input=x, weight=x)
    inner = nested[2]["more"][0]
    tensors = [nested[0], nested[1][0], nested[1][2][0], nested[2]["weight"], inner[0]]
    untouched = nested[1][1] is mask and nested[3] is labels and inner[1] is waves
    return {
        "nested": [str(tensor.dtype) for tensor in tensors],
        "kept": untouched and nested[4:] == ("mean", None, 0.5),
        "containers": [type(container) for container in (nested, nested[1], nested[2], inner)]
        == [tuple, list, dict, tuple],
        "too large": module.cast(torch.tensor([1e6, NAN]), torch.float16).tolist(),
        "keywords": str(keywords.dtype),
        "float64": str(module.cast(exact, torch.bfloat16).dtype),
        "namedtuple": pair,
    }


def small() -> nn.Sequential:
    """Two products, a norm and an activation, layers within layers."""
    torch.manual_seed(0)
    inner = nn.Sequential(nn.LayerNorm(8), nn.Sequential(nn.GELU()))
    return nn.Sequential(nn.Linear(8, 8), inner, nn.Linear(8, 3))


def training() -> tuple[set[str], set[str], float]:
    """Formats of weights and gradients after backward; the gradients' relative error."""
    data = torch.randn(16, 8, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(16) % 3
    exact, mine = small(), small()
    F.cross_entropy(exact(data), labels).backward()
    with own_autocast():
        loss = F.cross_entropy(mine(data), labels)
    loss.backward()
    held = {str(p.dtype) for p in mine.parameters()}
    pairs = [(a.grad, b.grad) for a, b in zip(exact.parameters(), mine.parameters(), strict=True)]
    if any(got is None for _, got in pairs):
        return held, {"none at all"}, 1.0
    off = sum(float((got - expected).norm() ** 2) for expected, got in pairs) ** 0.5
    size = sum(float(expected.norm() ** 2) for expected, _ in pairs) ** 0.5
    return held, {str(got.dtype) for _, got in pairs}, off / size


def next_block() -> float:
    """How far a layer's output in the next block is off, after its weights have changed."""
    data, layer = torch.ones(1, 4), nn.Linear(4, 1, bias=False)
    with own_autocast():
        layer(data)
    nn.init.ones_(layer.weight)
    with own_autocast():
        return abs(layer(data).item() - 4)


def without_library() -> str:
    """The format of a product while torch's own autocast raises errors."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it hands the work to torch.autocast, which is what it should replace")

    torch.autocast.__init__ = torch.autocast.__enter__ = refuse
    with own_autocast():
        return str(nn.Linear(4, 4)(torch.randn(2, 4)).dtype)
