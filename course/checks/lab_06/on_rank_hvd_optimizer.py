"""What the checks of `hvd_optimizer` do on each rank, over the engine."""

import importlib
import time
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn

from course.checks.engine.reference import OPTIMIZERS, Small, batch, furthest, loss_of, weights
from course.checks.lab_06.on_rank_hvd_engine import calls_of_the_engine, running_engine
from course.given.horovod import Compression, engine


def distributed(
    model: nn.Module, optimizer: str = "SGD", **options: object
) -> torch.optim.Optimizer:
    """The learner's optimizer over one of those of the checks."""
    make = importlib.import_module("hvd_optimizer").DistributedOptimizer
    if options.get("compression") == "fp16":
        options["compression"] = Compression.fp16
    trained = [p for p in model.parameters() if p.requires_grad]
    return make(OPTIMIZERS[optimizer](trained), model.named_parameters(), **options)


def _sums(model: nn.Module, passes: int = 1, rank: int | None = None) -> list[torch.Tensor]:
    """The sums of the gradients of this rank's (or `rank`'s) first batches, one in each pass."""
    alone = Small(seed=0, kind=model.kind)
    for step in range(passes):
        loss_of(alone, batch(step, dist.get_rank() if rank is None else rank)).backward()
    return [p.grad for p in alone.parameters() if p.grad is not None]


def averages(variants: dict[str, dict]) -> dict[str, float]:
    """By set of options: how far gradients are from what torch's collectives give.

    With groups, "two lists" stands for two lists of parameters.
    """
    off = {}
    with running_engine():
        for name, options in variants.items():
            model = Small(seed=0)
            if options.get("groups") == "two lists":
                groups = [list(model.layers.parameters()), [model.heads[0].weight]]
                options = options | {"groups": groups}
            optimizer = distributed(model, **options)
            loss_of(model, batch(0, dist.get_rank())).backward()
            optimizer.synchronize()
            wanted = _sums(model)
            for gradient in wanted:
                dist.all_reduce(gradient)
                if options.get("op") != "Sum":
                    gradient /= dist.get_world_size()
            off[name] = furthest([p.grad for p in model.parameters()], wanted)
            if any(p.grad.dtype != torch.float32 for p in model.parameters()):
                off[name] = float("inf")
    return off


def train(pairs: list[tuple[str, str]]) -> dict:
    """This rank's weights after three steps from other starts, by (kind of model, optimizer)."""
    state, trained = importlib.import_module("hvd_state"), {}
    with running_engine():
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


def during_backward(steps: int) -> list[tuple[int, int, bool]]:
    """For each step: the operations that had begun when the first layer got its gradient, and when
    backward ended; whether backward waited for one.
    """
    counts, early = [], []
    with running_engine():
        model = Small(seed=0)
        optimizer = distributed(model)
        model.layers[0].weight.register_hook(lambda gradient: early.append(len(calls)))
        for step in range(steps):
            with calls_of_the_engine() as calls:
                loss_of(model, batch(step, dist.get_rank())).backward()
                counts.append((early[-1], calls.count("submit"), "wait" in calls))
                optimizer.step()
                optimizer.zero_grad()
    return counts


def unused() -> tuple[float, float]:
    """How far the weights are off when rank 1 does not use a head; when it uses them in reverse."""
    rank, off = dist.get_rank(), []
    with running_engine():
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
    """The operations that each pass begins, and how far gradients are from their sums' average."""
    with running_engine():
        model, begun = Small(seed=0), []
        optimizer = distributed(model, backward_passes_per_step=passes)
        for step in range(passes):
            with calls_of_the_engine() as calls:
                loss_of(model, batch(step, dist.get_rank())).backward()
                begun.append(calls.count("submit"))
        optimizer.synchronize()
        sums = [_sums(model, passes, rank) for rank in range(dist.get_world_size())]
        wanted = [sum(gradients) / len(sums) for gradients in zip(*sums, strict=True)]
        return begun, furthest([p.grad for p in model.parameters()], wanted)


def requests(variants: dict[str, dict]) -> dict[str, list[tuple]]:
    """By set of options: what a backward pass asks for, as (name, op, dtype, tensors, factors)."""
    asked = {}
    with running_engine():
        for variant, options in variants.items():
            model = Small(seed=0)
            with mock.patch.object(engine(), "submit", wraps=engine().submit) as submit:
                optimizer = distributed(model, **options)
                loss_of(model, batch(0, dist.get_rank())).backward()
                optimizer.step()
            asked[variant] = [_request(*call.args, **call.kwargs) for call in submit.mock_calls]
    return asked


def _request(
    name: str,
    kind: str,
    tensors: list[torch.Tensor],
    outputs: list[torch.Tensor],
    **details: object,
) -> tuple:
    """What the checks look at in a request to the engine."""
    return name, details["op"], details["dtype"], len(tensors), details["factors"]


def clipped() -> tuple[float, int]:
    """How far the weights are off if averages are clipped before the step; operations begun."""
    with running_engine(), calls_of_the_engine() as calls:
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
        return furthest(weights(model), weights(alone)), calls.count("submit")
