"""What the checks of `my_scaler` do on each rank, compared with torch's own scaler."""

import importlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from course.checks.tools.leaks import count_leaks
from course.checks.tools.recorder import Call, recorded
from course.checks.tools.reference import Small, batch, furthest, loss_of, weights

INF, NAN = float("inf"), float("nan")
FORMATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
OVERFLOWS = {1: (1, INF), 4: (2, NAN), 5: (0, -INF)}  # by step: which rank has it, and what
WITHOUT = (3, 5)  # the steps in which no rank has gradients
Planted = dict[int, tuple[int, float]]  # by step: which parameter's gradient gets which value


def own_scaler(**options: float) -> object:
    """The learner's `Scaler`."""
    return importlib.import_module("my_scaler").Scaler(**options)


def torch_scaler(
    factor: float, growth: float, backoff: float, interval: int
) -> torch.amp.GradScaler:
    """torch's scaler with the same settings."""
    return torch.amp.GradScaler(
        "cpu",
        init_scale=factor,
        growth_factor=growth,
        backoff_factor=backoff,
        growth_interval=interval,
    )


def backward(
    model: torch.nn.Module, scaler: object, step: int, planted: Planted | None = None
) -> None:
    """One scaled backward pass, with what is planted in one element of a gradient."""
    model.zero_grad()
    scaler.scale(loss_of(model, batch(step, 0))).backward()
    if planted and step in planted:
        place, value = planted[step]
        list(model.parameters())[place].grad.view(-1)[-1] = value


def decisions(options: dict, planted: Planted, steps: int) -> list:
    """The learner's (factor, good steps in a row) by step, torch's, and the weights' distance."""
    records, models = [], []
    for scaler in (own_scaler(**options), torch_scaler(**options)):
        model = Small(seed=0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        record = []
        for step in range(steps):
            backward(model, scaler, step, planted)
            scaler.step(optimizer)
            scaler.update()
            record.append((_factor(scaler), _good_steps(scaler)))
        records.append(record)
        models.append(weights(model))
    return [*records, furthest(*models)]


def _factor(scaler: object) -> float:
    """The factor of a scaler, torch's or the learner's."""
    if isinstance(scaler, torch.amp.GradScaler):
        return scaler.get_scale()
    return float(scaler.factor)


def _good_steps(scaler: object) -> int:
    """How many good steps in a row a scaler has counted, torch's or the learner's."""
    if isinstance(scaler, torch.amp.GradScaler):
        return scaler.state_dict()["_growth_tracker"]
    return int(scaler.good_steps)


def all_decisions(cases: dict[str, tuple]) -> dict[str, list]:
    """`decisions` for each of the cases, by name."""
    return {name: decisions(*case) for name, case in cases.items()}


def gradients() -> list[tuple[float, float]]:
    """In each of two steps: how far scaled gradients, then unscaled ones, are off.

    The optimizer has two groups of parameters.
    """
    scaler, off = own_scaler(factor=1024.0), []
    for step in range(2):
        exact, model = Small(seed=0), Small(seed=0)
        groups = [{"params": model.layers.parameters()}, {"params": model.heads.parameters()}]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        loss_of(exact, batch(step, 0)).backward()
        expected = [p.grad for p in exact.parameters()]
        backward(model, scaler, step)
        scaled = furthest([1024 * g for g in expected], [p.grad for p in model.parameters()]) / 1024
        scaler.unscale_(optimizer)
        off.append((scaled, furthest(expected, [p.grad for p in model.parameters()])))
        scaler.step(optimizer)
        scaler.update()
    return off


def by_format() -> dict[str, list[float]]:
    """By format: 1024, -2 and 0.5, divided by a factor of 131,072 and multiplied by it again."""
    results = {}
    for dtype in FORMATS:
        weight, factor = torch.nn.Parameter(torch.zeros(3, dtype=dtype)), 2.0**17
        weight.grad = torch.tensor([1024, -2, 0.5], dtype=dtype)
        own_scaler(factor=factor).unscale_(torch.optim.SGD([weight], lr=0.1))
        results[str(dtype).removeprefix("torch.")] = (weight.grad.double() * factor).tolist()
    return results


def finds() -> dict[str, bool]:
    """By what the gradients hold: was the step skipped? The last parameter has no gradient.

    The optimizer has two groups of parameters.
    """
    bad = {
        f"{value} in parameter {i}": {0: (i, value)}
        for value in (INF, -INF, NAN)
        for i in (0, 5, 8)
    }
    results = {}
    for what in ("usual numbers", "2e38 everywhere", *bad):
        model, scaler = Small(seed=0), own_scaler(factor=8.0)
        groups = [{"params": model.layers.parameters()}, {"params": model.heads.parameters()}]
        optimizer = torch.optim.SGD(groups, lr=0.1)
        before = weights(model)
        backward(model, scaler, 0, bad.get(what))
        if what == "2e38 everywhere":
            for p in model.parameters():
                p.grad.fill_(2e38)  # finite, but not their sum
        list(model.parameters())[9].grad = None
        scaler.step(optimizer)
        results[what] = furthest(before, weights(model)) == 0
    return results


def skipped() -> tuple[float, bool, int]:
    """After a skipped step of AdamW: how far weights moved, is its state the same, its calls."""
    model, scaler = Small(seed=0), own_scaler(factor=8.0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    backward(model, scaler, 0)
    scaler.step(optimizer)
    scaler.update()
    before, calls = weights(model), []
    state = {k: v.clone() for k, v in optimizer.state[model.layers[0].weight].items()}
    optimizer.register_step_pre_hook(lambda *_: calls.append(1))
    backward(model, scaler, 1, {1: (3, INF)})
    scaler.step(optimizer)
    scaler.update()
    now = optimizer.state[model.layers[0].weight]
    same = all(torch.equal(state[k], now[k]) for k in state)
    return furthest(before, weights(model)), same, len(calls)


def once() -> float:
    """How far the weights are from torch's, if `unscale_` is called for clipping before `step`."""
    models = Small(seed=0), Small(seed=0)
    options = {"factor": 1024.0, "growth": 2.0, "backoff": 0.5, "interval": 2}
    for model, scaler in zip(models, (own_scaler(**options), torch_scaler(**options)), strict=True):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            backward(model, scaler, step)
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 0.1)
            scaler.step(optimizer)
            scaler.update()
    return furthest(*map(weights, models))


def sharded() -> list[tuple[bool, float]]:
    """In each of six steps: whether this rank skipped, and its factor.

    No gradients are averaged, and only one rank overflows.
    """
    model, scaler = Small(seed=dist.get_rank()), own_scaler(factor=64.0, interval=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    planted = {s: (2, bad) for s, (rank, bad) in OVERFLOWS.items() if rank == dist.get_rank()}
    record = []
    for step in range(6):
        before = weights(model)
        backward(model, scaler, step, planted)
        scaler.step(optimizer)
        scaler.update()
        record.append((furthest(before, weights(model)) == 0, float(scaler.factor)))
    return record


def replicated() -> tuple[list[float], list[float], float]:
    """Under DDP: the factors, torch's, and how far the weights are apart after five steps.

    Rank 1's loss alone overflows, in step 1.
    """
    options = {"factor": 64.0, "growth": 2.0, "backoff": 0.5, "interval": 2}
    records, models = [], []
    for scaler in (own_scaler(**options), torch_scaler(**options)):
        model = DistributedDataParallel(Small(seed=0))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        record = []
        for step in range(5):
            model.zero_grad()
            loss = loss_of(model, batch(step, dist.get_rank()))
            bad = INF if dist.get_rank() == 1 and step == 1 else 1.0
            scaler.scale(loss * bad).backward()
            scaler.step(optimizer)
            scaler.update()
            record.append(_factor(scaler))
        records.append(record)
        models.append(weights(model))
    return records[0], records[1], furthest(*models)


def messages() -> tuple[list[tuple[list[Call], int]], int]:
    """What each step sends and how many process groups it makes; how many tensors it leaves in
    memory.
    """
    model, scaler = Small(seed=0), own_scaler(factor=64.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    steps = []

    def step(number: int) -> None:
        with recorded("new_group") as groups, recorded() as calls:
            backward(model, scaler, number)
            if number in WITHOUT:
                model.zero_grad()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        steps.append((calls, len(groups)))

    left, _ = count_leaks(step)
    return steps, left
