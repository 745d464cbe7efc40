"""What the checks of lab 06 do on each rank with the state and the optimizer, over the engine."""

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import nn

from course.checks.engine.reference import OPTIMIZERS, Small, batch, furthest, loss_of, weights


@contextmanager
def started() -> Iterator[None]:
    """The engine, from start to end."""
    basics = importlib.import_module("hvd_basics")
    basics.init()
    yield
    basics.shutdown()


@contextmanager
def watched(module: str, *names: str) -> Iterator[list[tuple[str, str]]]:
    """What is called in a module of the learner's, in order: (function, name of the operation)."""
    place, calls = importlib.import_module(module), []

    def watch(name: str, real: Callable) -> Callable:
        def call(*args: object, **kwargs: object) -> object:
            calls.append((name, str(kwargs.get("name") or (args[2] if len(args) > 2 else ""))))
            return real(*args, **kwargs)

        return call

    real = {name: getattr(place, name) for name in names}
    for name, function in real.items():
        setattr(place, name, watch(name, function))
    yield calls
    for name, function in real.items():
        setattr(place, name, function)


# -- state -------------------------------------------------------------------------------------------------------------


def parameters(root: int) -> dict[str, float]:
    """How far this rank's tensors are from the root's afterwards, for each form in which they can be given."""
    state, off = importlib.import_module("hvd_state"), {}
    with started():
        forms = {
            "a state dict": lambda model: model.state_dict(),
            "a state dict in its own order": lambda model: dict(
                _in_own_order(model.state_dict().items())
            ),
            "pairs": lambda model: list(model.state_dict().items()),
            "pairs from a generator": lambda model: model.named_parameters(),
            "tensors": lambda model: list(model.state_dict().values()),
        }
        for form, of in forms.items():
            model, wanted = Small(seed=dist.get_rank()), Small(seed=root)
            state.broadcast_parameters(of(model), root_rank=root)
            got, want = (
                weights(m) if "generator" not in form else list(m.parameters())
                for m in (model, wanted)
            )
            off[form] = furthest(got, want)
    return off


def _in_own_order(items: object) -> list:
    return list(items)[:: -1 if dist.get_rank() == 1 else 1]


def begun_before_waiting() -> tuple[int, int]:
    """How many broadcasts of a state dict have begun when the first is waited for; how many there are."""
    state = importlib.import_module("hvd_state")
    tensors = Small(seed=0).state_dict()
    with started(), watched("hvd_state", "broadcast_async_", "broadcast_", "synchronize") as calls:
        state.broadcast_parameters(tensors, root_rank=0)
    waits = [place for place, (name, _) in enumerate(calls) if name != "broadcast_async_"]
    return (waits or [len(calls)])[0], len(tensors)


def objects() -> dict[int, tuple[tuple[int, int], list[int], int]]:
    """By root: what this rank gets of two objects whose lengths differ between ranks, and operations for the second."""
    state, got = importlib.import_module("hvd_state"), {}
    rank, lengths = dist.get_rank(), (3, 40_000, 10)
    with started():
        runner = importlib.import_module("hvd_basics").engine().runner
        for root in (0, 1):
            described = state.broadcast_object({"rank": rank, "text": "x" * lengths[rank]}, root)
            sent = runner.messages
            listed = state.broadcast_object([rank] * (rank + 1), root, name="list")
            got[root] = (described["rank"], len(described["text"])), listed, runner.messages - sent
    return got


def optimizer_state() -> dict[str, object]:
    """After the state of rank 1 went to all: learning rate, momenta and whether two more steps stay equal on all."""
    state = importlib.import_module("hvd_state")
    rank, root, made = dist.get_rank(), 1, {}
    with started():
        for name in ("SGD with momentum", "AdamW"):
            model = Small(seed=0)
            optimizer = OPTIMIZERS[name](model.parameters())
            optimizer.param_groups[0]["lr"] = 0.01 * (rank + 1)
            for step in range(2 if rank == root else 0):  # only the root has a past
                _step(model, optimizer, step)
            state.broadcast_parameters(model.state_dict(), root_rank=root)
            state.broadcast_optimizer_state(optimizer, root_rank=root)
            rate = optimizer.param_groups[0]["lr"]
            for step in range(2, 4):
                _step(model, optimizer, step)
            alone = Small(seed=0)
            reference = OPTIMIZERS[name](alone.parameters())
            reference.param_groups[0]["lr"] = 0.01 * (root + 1)
            for step in range(4):
                _step(alone, reference, step)
            made[name] = (rate, furthest(weights(model), weights(alone)))
    return made


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    optimizer.zero_grad()
    loss_of(model, batch(step, rank=0)).backward()
    optimizer.step()


# -- the optimizer -----------------------------------------------------------------------------------------------------


def distributed(
    model: nn.Module, optimizer: str = "SGD", **options: object
) -> torch.optim.Optimizer:
    """The learner's optimizer over one of those of the checks."""
    make = importlib.import_module("hvd_optimizer").DistributedOptimizer
    if options.get("compression") == "fp16":
        options["compression"] = importlib.import_module("hvd_autograd").Compression.fp16
    trained = [p for p in model.parameters() if p.requires_grad]
    return make(OPTIMIZERS[optimizer](trained), model.named_parameters(), **options)


def _sums(model: nn.Module, passes: int = 1, rank: int | None = None) -> list[torch.Tensor]:
    """The gradients of this rank's first batches, added up over the passes, without any communication."""
    alone = Small(seed=0, kind=model.kind)
    for step in range(passes):
        loss_of(alone, batch(step, dist.get_rank() if rank is None else rank)).backward()
    return [p.grad for p in alone.parameters() if p.grad is not None]


def averages(variants: dict[str, dict], passes: int = 1) -> dict[str, float]:
    """How far the gradients are from what torch's collectives make of the ranks' own, for each set of options.

    With groups, "two lists" stands for two lists of parameters.
    """
    off = {}
    with started():
        for name, options in variants.items():
            model = Small(seed=0)
            if options.get("groups") == "two lists":
                options = options | {
                    "groups": [list(model.layers.parameters()), [model.heads[0].weight]]
                }
            optimizer = distributed(model, **options)
            for step in range(passes):
                loss_of(model, batch(step, dist.get_rank())).backward()
            optimizer.synchronize()
            wanted = _sums(model, passes)
            for gradient in wanted:
                dist.all_reduce(gradient)
                if options.get("op") != "Sum":
                    gradient /= dist.get_world_size()
            off[name] = furthest([p.grad for p in model.parameters()], wanted)
            if any(p.grad.dtype != torch.float32 for p in model.parameters()):
                off[name] = float("inf")
    return off


def train(pairs: list[tuple[str, str]]) -> dict:
    """The weights on this rank after three steps from different starts, for each (kind of model, optimizer)."""
    state, trained = importlib.import_module("hvd_state"), {}
    with started():
        for kind, name in pairs:
            model = Small(seed=dist.get_rank(), kind=kind)
            state.broadcast_parameters(model.state_dict(), root_rank=0)
            optimizer = distributed(model, name)
            for step in range(3):
                optimizer.zero_grad()
                loss_of(model, batch(step, dist.get_rank())).backward()
                optimizer.step()
            trained[kind, name] = weights(model)
    return trained


def during_backward(steps: int) -> list[tuple[int, int]]:
    """For each step: how many operations had begun when the first layer got its gradient, and when backward ended.

    -1 instead of the second number if something was waited for within backward.
    """
    counts, begun = [], []
    with started():
        model = Small(seed=0)
        optimizer = distributed(model)
        model.layers[0].weight.register_hook(lambda gradient: begun.append(len(sent)))
        for step in range(steps):
            with watched("hvd_optimizer", "grouped_allreduce_async_", "synchronize") as calls:
                sent = calls
                loss_of(model, batch(step, dist.get_rank())).backward()
                waited = any(name == "synchronize" for name, _ in calls)
                counts.append((begun[-1], -1 if waited else len(calls)))
                optimizer.step()
                optimizer.zero_grad()
    return counts


def unused() -> tuple[float, float]:
    """How far the weights are from the reference when a head is unused on rank 1; when its uses change their order."""
    rank, off = dist.get_rank(), []
    with started():
        for heads_of in ({0: (0, 1), 1: (0,)}, {0: (0, 1), 1: (1, 0)}):
            model, alone = Small(seed=0), Small(seed=0)
            optimizer = distributed(model)
            if rank == 1:
                time.sleep(0.05)  # its gradients come in other cycles
            loss_of(model, batch(0, rank), heads=heads_of[rank]).backward()
            optimizer.step()
            for other, heads in heads_of.items():
                (loss_of(alone, batch(0, other), heads=heads) / 2).backward()
            OPTIMIZERS["SGD"](alone.parameters()).step()
            off.append(furthest(weights(model), weights(alone)))
    return off[0], off[1]


def accumulated(passes: int) -> tuple[list[int], float]:
    """How many operations each of the passes begins, and how far the gradients are from their sums' average."""
    with started():
        model, begun = Small(seed=0), []
        optimizer = distributed(model, backward_passes_per_step=passes)
        for step in range(passes):
            with watched("hvd_optimizer", "grouped_allreduce_async_") as calls:
                loss_of(model, batch(step, dist.get_rank())).backward()
                begun.append(len(calls))
        optimizer.synchronize()
        sums = [_sums(model, passes, rank) for rank in range(dist.get_world_size())]
        wanted = [sum(gradients) / len(sums) for gradients in zip(*sums, strict=True)]
        return begun, furthest([p.grad for p in model.parameters()], wanted)


def requests(variants: dict[str, dict]) -> dict[str, list[tuple]]:
    """What is asked for in one backward pass, for each set of options: (name, op, dtype, tensors, factors)."""
    asked = {}
    with started():
        engine = importlib.import_module("hvd_basics").engine()
        real = engine.submit
        for variant, options in variants.items():
            calls = asked[variant] = []

            def note(
                name: str, kind: str, tensors: list, outputs: list, calls=calls, **details: object
            ) -> object:
                calls.append(
                    (name, details["op"], details["dtype"], len(tensors), details["factors"])
                )
                return real(name, kind, tensors, outputs, **details)

            engine.submit = note
            model = Small(seed=0)
            optimizer = distributed(model, **options)
            loss_of(model, batch(0, dist.get_rank())).backward()
            optimizer.step()
        engine.submit = real
    return asked


def clipped() -> tuple[float, int]:
    """How far the weights are from the reference if averages are clipped before the step; how many operations begun."""
    with started(), watched("hvd_optimizer", "grouped_allreduce_async_") as calls:
        model, alone = Small(seed=0), Small(seed=0)
        optimizer = distributed(model)
        loss_of(model, batch(0, dist.get_rank())).backward()
        optimizer.synchronize()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        with optimizer.skip_synchronize():
            optimizer.step()
        for rank in range(dist.get_world_size()):
            (loss_of(alone, batch(0, rank)) / dist.get_world_size()).backward()
        nn.utils.clip_grad_norm_(alone.parameters(), 0.01)
        OPTIMIZERS["SGD"](alone.parameters()).step()
        return furthest(weights(model), weights(alone)), len(calls)
