"""What the checks of lab 05 do with master weights and with the learner's own autocast: in one process."""

import importlib
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.checks.engine.reference import furthest, weights

# -- master weights ----------------------------------------------------------------------------------------------------


def mixed_model() -> nn.Sequential:
    """Two layers in float16 and, between them, a norm in float32, as models often have."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)).half()
    model[1].float()
    return model


def sgd(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """SGD with momentum, which moves a weight on even after a step without a gradient of its own."""
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def random_gradients(model: nn.Module, seed: int) -> None:
    """Give every parameter of `model` a gradient in its own format."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)


def master_of(model: nn.Module, make: Callable = sgd) -> object:
    """The learner's `Master` over `model`."""
    return importlib.import_module("master_weights").Master(model.parameters(), make)


def small_changes() -> tuple[float, float]:
    """A weight of 1 in float16 and its master, after 1000 steps of +0.0001."""
    weight = nn.Parameter(torch.ones(2, dtype=torch.float16))
    master = importlib.import_module("master_weights").Master(
        [weight], lambda copies: torch.optim.SGD(copies, lr=1.0)
    )
    for _ in range(1000):
        weight.grad = torch.full_like(weight, -1e-4)
        master.step()
    return weight[0].item(), master.masters[0][0].item()


def copies() -> dict[str, object]:
    """What the masters are right after construction."""
    model = mixed_model()
    before = weights(model)
    master = master_of(model)
    stepped = [p for group in master.optimizer.param_groups for p in group["params"]]
    found = {
        "formats": {str(copy.dtype) for copy in master.masters},
        "start": max(
            float((copy - weight.float()).abs().max())
            for copy, weight in zip(master.masters, model.parameters(), strict=True)
        ),
        "stepped": [id(p) for p in stepped] == [id(copy) for copy in master.masters],
        "model unchanged": furthest(before, weights(model)) == 0,
    }
    with torch.no_grad():
        for copy in master.masters:
            copy += 1
    return found | {"apart": furthest(before, weights(model)) == 0}


def rounded() -> tuple[list[str], float]:
    """The model's formats after three steps, and how far its weights are from the masters, rounded."""
    model = mixed_model()
    formats, held = [str(p.dtype) for p in model.parameters()], list(model.parameters())
    master = master_of(model)
    off = 0.0
    for step in range(3):
        random_gradients(model, step)
        master.step()
        nearest = [
            copy.detach().to(weight.dtype)
            for copy, weight in zip(master.masters, held, strict=True)
        ]
        off = max(off, furthest(nearest, list(model.parameters())))
    after = [str(p.dtype) for p in model.parameters()]
    return [a for a, b in zip(after, formats, strict=True) if a != b], off


def reference() -> dict[str, float]:
    """By optimizer: how far the masters are from float32 weights that had the same gradients all along."""
    makers = {
        "SGD with momentum": sgd,
        "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
    }
    off = {}
    for name, make in makers.items():
        model = mixed_model()
        master = master_of(model, make)
        alone = [nn.Parameter(p.detach().clone().float()) for p in model.parameters()]
        optimizer = make(alone)
        for step in range(5):
            random_gradients(model, step)
            for mine, theirs in zip(alone, model.parameters(), strict=True):
                mine.grad = theirs.grad.clone().float()
            master.step()
            optimizer.step()
        off[name] = furthest(alone, master.masters)
    return off


def unused() -> float:
    """How far a weight moves in a step in which it has no gradient, after one in which it had."""
    model = mixed_model()
    master = master_of(model)
    random_gradients(model, 0)
    master.step()
    before = weights(model)
    random_gradients(model, 1)
    model[2].weight.grad = None
    master.step()
    return float((before[4] - model[2].weight).abs().max())


# -- autocast by lists -------------------------------------------------------------------------------------------------


def own(dtype: torch.dtype = torch.bfloat16) -> object:
    """The learner's `Autocast`."""
    return importlib.import_module("my_autocast").Autocast(dtype)


def _formats(results: dict[str, Tensor]) -> dict[str, str]:
    return {name: str(result.dtype).removeprefix("torch.") for name, result in results.items()}


def low() -> dict[str, dict[str, str]]:
    """By format of the mode: the formats in which products of float32 tensors come out."""
    x, image = torch.randn(2, 4, 4), torch.randn(1, 1, 4, 4)
    layer = nn.Linear(4, 4)
    found = {}
    for dtype in (torch.bfloat16, torch.float16):
        with own(dtype):
            results = {
                "nn.Linear": layer(x), "torch.matmul": torch.matmul(x, x), "@": x @ x, "bmm": torch.bmm(x, x),
                "conv2d": F.conv2d(image, image), "einsum": torch.einsum("bij,bjk->bik", x, x),
            }  # fmt: skip
        found[str(dtype).removeprefix("torch.")] = _formats(results)
    return found


def full() -> tuple[dict[str, str], float]:
    """The formats in which operations that need 32 bits leave tensors of 16, and a sum that float16 cannot hold."""
    h = torch.full((64, 64), 32.0, dtype=torch.float16)
    labels = torch.zeros(64, dtype=torch.long)
    with own(torch.float16):
        results = {
            "softmax": h.softmax(-1), "F.log_softmax": F.log_softmax(h, -1), "layer_norm": F.layer_norm(h, (64,)),
            "exp": h.exp(), "sum": h.sum(), "cross_entropy": F.cross_entropy(h, labels), "mse_loss": F.mse_loss(h, h),
        }  # fmt: skip
    return _formats(results), results["sum"].item()


def others() -> dict[str, str]:
    """The formats in which operations on neither list leave what they get."""
    x, table = torch.randn(4, 4), nn.Embedding(5, 4)
    with own():
        return _formats({
            "relu of 32 bits": x.relu(), "relu of 16": x.bfloat16().relu(), "embedding": table(torch.tensor([1, 2])),
            "16 + 32 bits": x.bfloat16() + x, "integers": torch.arange(3) * 2,
        })  # fmt: skip


def arguments() -> dict[str, object]:
    """What `cast` makes of nested arguments, and whether keyword arguments are cast."""
    x = torch.randn(4, 4)
    mask, labels = torch.ones(4, dtype=torch.bool), torch.arange(4)
    module = importlib.import_module("my_autocast")
    nested = module.cast((x, [x, mask], {"weight": x}, labels, "mean", None, 0.5), torch.bfloat16)
    with own():
        keywords = F.linear(input=x, weight=x)
    tensors = [nested[0], nested[1][0], nested[2]["weight"]]
    return {
        "nested": [str(tensor.dtype) for tensor in tensors],
        "kept": nested[1][1] is mask and nested[3] is labels and nested[4:] == ("mean", None, 0.5),
        "containers": [type(nested), type(nested[1]), type(nested[2])] == [tuple, list, dict],
        "keywords": str(keywords.dtype),
    }


def small() -> nn.Sequential:
    """Two products, a norm and an activation."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 8), nn.Sequential(nn.LayerNorm(8), nn.GELU()), nn.Linear(8, 3)
    )


def training() -> tuple[set[str], set[str], float]:
    """Formats of weights and gradients after a backward pass, and the gradients' relative error against float32."""
    data, labels = (
        torch.randn(16, 8, generator=torch.Generator().manual_seed(1)),
        torch.arange(16) % 3,
    )
    exact, mine = small(), small()
    F.cross_entropy(exact(data), labels).backward()
    with own():
        loss = F.cross_entropy(mine(data), labels)
    loss.backward()
    pairs = [(a.grad, b.grad) for a, b in zip(exact.parameters(), mine.parameters(), strict=True)]
    if any(got is None for _, got in pairs):
        return {str(p.dtype) for p in mine.parameters()}, {"none at all"}, 1.0
    off = sum(float((got - wanted).norm() ** 2) for wanted, got in pairs) ** 0.5
    return (
        {str(p.dtype) for p in mine.parameters()},
        {str(got.dtype) for _, got in pairs},
        off / sum(float(wanted.norm() ** 2) for wanted, _ in pairs) ** 0.5,
    )


def watched() -> list[dict[str, str]]:
    """What `watch` says of a model under one's own autocast, in another format, and without any."""
    module, model = importlib.import_module("my_autocast"), small()
    found = module.watch(model)
    seen = []
    for dtype in (torch.bfloat16, torch.float16, None):
        if dtype is None:
            model(torch.randn(2, 8))
        else:
            with own(dtype):
                model(torch.randn(2, 8))
        seen.append({name: str(value).removeprefix("torch.") for name, value in found.items()})
    return seen


def without_library() -> str:
    """The format of a product with torch's own autocast made unusable."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it hands the work to torch.autocast, which is what it should replace")

    torch.autocast.__init__ = torch.autocast.__enter__ = refuse
    with own():
        return str(nn.Linear(4, 4)(torch.randn(2, 4)).dtype)
