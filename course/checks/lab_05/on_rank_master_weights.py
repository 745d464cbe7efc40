"""What the checks of `master_weights` do, in one process."""

import importlib
from collections.abc import Callable

import torch
from torch import Tensor, nn

from course.checks.tools.leaks import count_leaks
from course.checks.tools.reference import furthest, weights

GRADIENTS = (6e4, 6e-8, -1.5, float("inf"), float("nan"))  # float16 has all of them


def mixed_model() -> nn.Sequential:
    """Layers in float16, float32 and bfloat16, one weight of which float16 could not hold."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2), nn.Linear(2, 2))
    model.half()
    model[1].float()
    model[3].bfloat16()
    with torch.no_grad():
        model[3].weight[0, 0] = 1e5
    return model


def sgd(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """SGD with momentum, which goes on moving a weight for which a step has no gradient."""
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def random_gradients(model: nn.Module, seed: int) -> None:
    """Give every parameter of `model` a gradient in its own format."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)


def master_of(model: nn.Module, make: Callable = sgd) -> object:
    """The learner's `Master` over `model`."""
    return importlib.import_module("master_weights").Master(model.parameters(), make)


def masters_of(master: object) -> list[Tensor]:
    """The float32 copies: what the learner's optimizer steps, in the order of the weights."""
    return [p for group in master.optimizer.param_groups for p in group["params"]]


def small_changes() -> tuple[float, float]:
    """A weight of 1 in float16 and its master, after 1000 steps of +0.0001."""
    weight = nn.Parameter(torch.ones(2, dtype=torch.float16))
    master = importlib.import_module("master_weights").Master(
        [weight], lambda copies: torch.optim.SGD(copies, lr=1.0)
    )
    for _ in range(1000):
        weight.grad = torch.full_like(weight, -1e-4)
        master.step()
    return weight[0].item(), masters_of(master)[0][0].item()


def copies() -> dict[str, object]:
    """What the masters are right after construction."""
    model = mixed_model()
    before, held = weights(model), list(model.parameters())
    masters = masters_of(master_of(model))
    results = {
        "formats": {str(copy.dtype) for copy in masters},
        "weights themselves": any(copy is weight for copy in masters for weight in held),
        "start": max(
            float((copy - weight.float()).abs().max())
            for copy, weight in zip(masters, held, strict=True)
        ),
        "model unchanged": furthest(before, weights(model)) == 0,
    }
    with torch.no_grad():
        for copy in masters:
            copy += 1
    return results | {"apart": furthest(before, weights(model)) == 0}


def rounded() -> tuple[list[str], float, int]:
    """The formats that steps change, how far the weights are from the rounded masters, and how many
    tensors a step leaves in memory.
    """
    model = mixed_model()
    formats, held = [str(p.dtype) for p in model.parameters()], list(model.parameters())
    master, off = master_of(model), []

    def step(number: int) -> None:
        random_gradients(model, number)
        master.step()
        nearest = [
            copy.detach().to(weight.dtype)
            for copy, weight in zip(masters_of(master), held, strict=True)
        ]
        off.append(furthest(nearest, list(model.parameters())))

    left, _ = count_leaks(step)
    after = [str(p.dtype) for p in model.parameters()]
    return [a for a, b in zip(after, formats, strict=True) if a != b], max(off), left


def collected() -> dict[float, float]:
    """By gradient of a weight in float16: the gradient that `collect` gives its master."""
    weight = nn.Parameter(torch.zeros(len(GRADIENTS), dtype=torch.float16))
    master = importlib.import_module("master_weights").Master([weight], sgd)
    weight.grad = torch.tensor(GRADIENTS, dtype=torch.float16)
    expected = weight.grad.tolist()
    master.collect()
    return dict(zip(expected, masters_of(master)[0].grad.tolist(), strict=True))


def reference() -> dict[str, float]:
    """By optimizer: how far the masters are from float32 weights with the same gradients."""
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
        off[name] = furthest(alone, masters_of(master))
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
