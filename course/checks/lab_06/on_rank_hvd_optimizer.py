"""What the checks of `hvd_optimizer` do on each rank, over the engine."""

import importlib
import time
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn

from course.checks.lab_06.on_rank_hvd_engine import (
    calls_of_the_engine,
    running_engine,
    slow_operations,
)
from course.checks.tools.reference import OPTIMIZERS, Small, batch, furthest, loss_of, weights
from course.given.horovod import Compression, HorovodInternalError, engine


def distributed(
    model: nn.Module, optimizer: str = "SGD", **options: object
) -> torch.optim.Optimizer:
    """The learner's optimizer over one of those of the checks.

    With groups, "two lists" stands for two lists of parameters.
    """
    make = importlib.import_module("hvd_optimizer").DistributedOptimizer
    if options.get("compression") == "fp16":
        options["compression"] = Compression.fp16
    if options.get("groups") == "two lists":
        backwards = list(model.layers.parameters())[::-1]
        options["groups"] = [backwards, [model.heads[0].weight]]
    trained = [p for p in model.parameters() if p.requires_grad]
    return make(OPTIMIZERS[optimizer](trained), model.named_parameters(), **options)


def averages(variants: dict[str, dict]) -> dict[str, float]:
    """By set of options: how far gradients are from what torch's collectives give.

    The model is in `dtype`.
    """
    off = {}
    with running_engine():
        for name, variant in variants.items():
            options = dict(variant)
            dtype = getattr(torch, options.pop("dtype", "float32"))
            model = Small(seed=0).to(dtype)
            optimizer = distributed(model, **options)
            data = tuple(tensor.to(dtype) for tensor in batch(0, dist.get_rank()))
            loss_of(model, data).backward()
            optimizer.synchronize()
            alone = Small(seed=0)
            loss_of(alone, batch(0, dist.get_rank())).backward()
            expected = [p.grad for p in alone.parameters()]
            for gradient in expected:
                dist.all_reduce(gradient)
                if options.get("op") != "Sum":
                    gradient /= dist.get_world_size()
            off[name] = furthest([p.grad for p in model.parameters()], expected)
            if any(p.grad.dtype != p.dtype for p in model.parameters()):
                off[name] = float("inf")
    return off


def overflowed() -> tuple[list[float], list[float]]:
    """The averaged gradients of two biases of which rank 1 alone has inf, or nan."""
    with running_engine():
        model = Small(seed=0)
        for head, value in zip(model.heads, (float("inf"), float("nan")), strict=True):
            if dist.get_rank() == 1:
                head.bias.register_hook(lambda gradient, value=value: gradient + value)
        optimizer = distributed(model)
        loss_of(model, batch(0, dist.get_rank())).backward()
        optimizer.synchronize()
        return tuple(head.bias.grad.tolist() for head in model.heads)


def train(pairs: list[tuple[str, str]]) -> dict:
    """This rank's weights after three steps, by (kind of model, optimizer)."""
    trained = {}
    with running_engine():
        for kind, name in pairs:
            model = Small(seed=0, kind=kind)
            optimizer = distributed(model, name)
            for step in range(3):
                optimizer.zero_grad()
                loss_of(model, batch(step, dist.get_rank())).backward()
                optimizer.step()
            trained[kind, name] = weights(model)
    return trained


def during_backward(steps: int, groups: int | None) -> list[tuple[int, int, bool]]:
    """For each step: the operations that had begun when the first layer got its gradient, and when
    backward ended; whether backward waited for one.
    """
    counts, early = [], []
    with running_engine():
        model = Small(seed=0)
        optimizer = distributed(model, groups=groups)
        model.layers[0].weight.register_hook(lambda gradient: early.append(len(calls)))
        for step in range(steps):
            with calls_of_the_engine() as calls:
                loss_of(model, batch(step, dist.get_rank())).backward()
                counts.append((early[-1], calls.count("submit"), "wait" in calls))
                optimizer.step()
                optimizer.zero_grad()
    return counts


def disagreeing() -> str:
    """What step() raises if the ranks have parameters of different shapes, "" if nothing."""
    with running_engine():
        model = nn.Linear(2 + dist.get_rank(), 1)
        optimizer = distributed(model)
        model(torch.ones(1, model.in_features)).sum().backward()
        try:
            optimizer.step()
        except HorovodInternalError as error:
            return str(error)
        return ""


def unused() -> dict[str, float]:
    """By case: how far the weights are off when rank 1 uses other heads of the model than rank 0,
    in another order, with several parameters in a group, or compressed.
    """
    rank, off = dist.get_rank(), {}
    cases = {
        "with a head that rank 1 does not use": ((0, 1), (0,), {}),
        "with heads in another order on rank 1": ((0, 1), (1, 0), {}),
        "with a head that rank 1 does not use, and groups=3": ((0, 1), (0,), {"groups": 3}),
        "with a head that rank 1 does not use, and fp16": ((0, 1), (0,), {"compression": "fp16"}),
        "with another head on each rank": ((0,), (1,), {}),
    }
    with running_engine():
        for case, (of_rank_0, of_rank_1, options) in cases.items():
            heads_of = {0: of_rank_0, 1: of_rank_1}
            model, alone = Small(seed=0), Small(seed=0)
            optimizer = distributed(model, **options)
            if rank == 1:
                time.sleep(0.05)  # its gradients come in other cycles
            loss_of(model, batch(0, rank), heads=heads_of[rank]).backward()
            optimizer.step()
            for other, heads in heads_of.items():
                (loss_of(alone, batch(0, other), heads=heads) / 2).backward()
            OPTIMIZERS["SGD"](alone.parameters()).step()
            off[case] = furthest(weights(model), weights(alone))
    return off


def accumulated(passes: int) -> tuple[list[int], float, float]:
    """The operations that each pass begins, and how far gradients are from their sums' average;
    how far, where rank 1 leaves a head out in the second pass.
    """
    ranks, off = range(dist.get_world_size()), []
    both, one = (0, 1), (0,)
    with running_engine():
        for of_rank_1 in (both, one):
            model, begun = Small(seed=0), []
            sums = [Small(seed=0) for _ in ranks]
            optimizer = distributed(model, backward_passes_per_step=passes)
            for step in range(passes):
                heads = [of_rank_1 if rank == 1 and step == 1 else both for rank in ranks]
                with calls_of_the_engine() as calls:
                    mine = dist.get_rank()
                    loss_of(model, batch(step, mine), heads=heads[mine]).backward()
                    begun.append(calls.count("submit"))
                for rank in ranks:
                    loss_of(sums[rank], batch(step, rank), heads=heads[rank]).backward()
            optimizer.synchronize()
            of_all = zip(*(m.parameters() for m in sums), strict=True)
            expected = [sum(p.grad for p in same) / len(ranks) for same in of_all]
            off.append(furthest([p.grad for p in model.parameters()], expected))
            if of_rank_1 is both:
                begun_by_pass = begun
    return begun_by_pass, *off


def requests(variants: dict[str, dict]) -> dict[str, tuple[list[tuple], float]]:
    """By set of options: what a backward pass asks for, as (name, op, dtype, tensors, factors), and
    how far the tensors were from this rank's gradients when they were handed in.
    """
    results = {}
    with running_engine():
        for variant, options in variants.items():
            model, alone, handed_in = Small(seed=0), Small(seed=0), []
            submit = engine().submit

            def noted(name, kind, tensors, submit=submit, handed_in=handed_in, **details):
                handed_in += [tensor.flatten().to(torch.float32, copy=True) for tensor in tensors]
                return submit(name, kind, tensors, **details)

            with mock.patch.object(engine(), "submit", side_effect=noted) as submitted:
                optimizer = distributed(model, **options)
                loss_of(model, batch(0, dist.get_rank())).backward()
                optimizer.step()
            loss_of(alone, batch(0, dist.get_rank())).backward()
            own = [p.grad.flatten() for p in alone.parameters()]
            off = furthest([torch.cat(handed_in).sort()[0]], [torch.cat(own).sort()[0]])
            results[variant] = (
                [_request(*call.args, **call.kwargs) for call in submitted.mock_calls],
                off,
            )
    return results


def _request(name: str, kind: str, tensors: list[torch.Tensor], **details: object) -> tuple:
    """The parts of a request to the engine that the checks compare."""
    return name, details["op"], details["dtype"], len(tensors), details["factors"]


def clipped() -> tuple[float, int, int]:
    """How far the weights are off if averages are clipped before the step; the operations begun,
    and those that are still under way after synchronize().
    """
    with running_engine(), calls_of_the_engine() as calls, slow_operations(0.5):
        model, alone = Small(seed=0), Small(seed=0)
        optimizer = distributed(model)
        loss_of(model, batch(0, dist.get_rank())).backward()
        optimizer.synchronize()
        under_way = len(engine().pending)
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        with optimizer.skip_synchronize():
            optimizer.step()
        for rank in range(dist.get_world_size()):
            (loss_of(alone, batch(0, rank)) / dist.get_world_size()).backward()
        nn.utils.clip_grad_norm_(alone.parameters(), 0.01)
        OPTIMIZERS["SGD"](alone.parameters()).step()
        return furthest(weights(model), weights(alone)), calls.count("submit"), under_way
