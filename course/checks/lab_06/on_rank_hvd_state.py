"""What the checks of `hvd_state` do on each rank, over the engine."""

import importlib
import itertools
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
from course.given.horovod import barrier, engine

LARGE = 2**24 + 1


def parameters(root: int) -> tuple[dict[str, float], dict[str, tuple[list, list]]]:
    """How far this rank's tensors are from the root's afterwards, for each form of `params`; by
    dtype what this rank gets, and what the root had.
    """
    state, off = importlib.import_module("hvd_state"), {}
    with running_engine():
        forms = {
            "a state dict": lambda model: model.state_dict(),
            "a state dict in its own order": _in_own_order,
            "pairs": lambda model: list(model.state_dict().items()),
            "pairs from a generator": lambda model: model.named_parameters(),
            "tensors": lambda model: list(model.state_dict().values()),
        }
        for form, of in forms.items():
            model, expected = Small(seed=dist.get_rank()), Small(seed=root)
            state.broadcast_parameters(of(model), root_rank=root)
            # named_parameters() leaves out the buffers
            compared = nn.Module.parameters if "generator" in form else weights
            off[form] = furthest(list(compared(model)), list(compared(expected)))
        mine, expected = _of_all_dtypes(dist.get_rank()), _of_all_dtypes(root)
        state.broadcast_parameters(mine, root_rank=root)
    return off, {name: (mine[name].tolist(), expected[name].tolist()) for name in mine}


def _of_all_dtypes(rank: int) -> dict[str, torch.Tensor]:
    """A rank's tensors by dtype, with numbers that no other format can hold."""
    return {
        "float16": torch.tensor([0.1 + rank], dtype=torch.float16),
        "float32": torch.tensor([[3e38, float("inf"), 0.1 + rank]]),
        "float64": torch.tensor(0.1 + rank, dtype=torch.float64),
        "int64": torch.tensor(2**53 + 1 + 2 * rank),
        "bool": torch.tensor([rank == 0, rank == 1]),
    }


def _in_own_order(model: nn.Module) -> dict[str, torch.Tensor]:
    """The state dict of `model`, in reverse on rank 1."""
    items = list(model.state_dict().items())
    return dict(reversed(items) if dist.get_rank() == 1 else items)


def begun_before_waiting() -> tuple[int, int, int]:
    """How many broadcasts of a state dict have begun when one is first waited for; all of them; and
    how many are still under way in the end.

    Each takes its time.
    """
    state = importlib.import_module("hvd_state")
    tensors = Small(seed=0).state_dict()
    with running_engine(), calls_of_the_engine() as calls, slow_operations(0.05):
        state.broadcast_parameters(tensors, root_rank=0)
        under_way = len(engine().pending)
        begun = len(list(itertools.takewhile("submit".__eq__, calls)))
        barrier()
    return begun, len(tensors), under_way


def objects() -> dict[int, tuple[tuple[int, int], list[int], list[int]]]:
    """By root: what this rank gets of two objects, and the elements of the tensors that are sent
    for the second.

    The objects have other lengths on other ranks.
    """
    state, got = importlib.import_module("hvd_state"), {}
    rank, lengths = dist.get_rank(), (3, 40_000, 10)
    with running_engine():
        for root in (0, 1):
            described = state.broadcast_object({"rank": rank, "text": "x" * lengths[rank]}, root)
            with mock.patch.object(engine(), "submit", wraps=engine().submit) as submit:
                listed = state.broadcast_object([rank] * (rank + 1), root, name="list")
            sent = [sum(tensor.numel() for tensor in call.args[2]) for call in submit.mock_calls]
            got[root] = (described["rank"], len(described["text"])), listed, sent
    return got


def large_object() -> int:
    """How many bytes arrive of an object with more bytes than float32 can count."""
    state = importlib.import_module("hvd_state")
    with running_engine():
        data = torch.zeros(LARGE if dist.get_rank() == 0 else 1, dtype=torch.uint8)
        return state.broadcast_object(data, 0).numel()


def optimizer_state() -> dict[str, tuple[list[dict], list[dict], float]]:
    """By optimizer and by who has trained before, once rank 1's state went to all: the options, the
    root's, and how far the weights are off two steps later.
    """
    state = importlib.import_module("hvd_state")
    root, made = 1, {}
    with running_engine():
        for name in ("SGD with momentum", "AdamW"):
            for trained in (root, 0):
                model = Small(seed=0)
                optimizer = _optimizer(name, model, dist.get_rank())
                for step in range(2 if dist.get_rank() == trained else 0):
                    _step(model, optimizer, step)
                state.broadcast_parameters(model.state_dict(), root_rank=root)
                state.broadcast_optimizer_state(optimizer, root_rank=root)
                options = _options(optimizer)
                alone = Small(seed=0)
                reference = _optimizer(name, alone, root)
                for step in range(2 if trained == root else 0):
                    _step(alone, reference, step)
                for step in range(2, 4):
                    _step(model, optimizer, step)
                    _step(alone, reference, step)
                who = "the root" if trained == root else "only another rank"
                off = furthest(weights(model), weights(alone))
                made[f"{name}, {who} has trained"] = options, _options(reference), off
    return made


def _optimizer(name: str, model: Small, rank: int) -> torch.optim.Optimizer:
    """A rank's optimizer, with two groups of parameters and options of its own in each."""
    groups = [
        {"params": list(model.layers.parameters())},
        {"params": list(model.heads.parameters())},
    ]
    optimizer = OPTIMIZERS[name](groups)
    for number, group in enumerate(optimizer.param_groups, start=1):
        group["lr"], group["weight_decay"] = 0.01 * number * (rank + 1), 0.1 * rank
    return optimizer


def _options(optimizer: torch.optim.Optimizer) -> list[dict[str, float]]:
    """The options of each group that differ between the ranks."""
    return [
        {name: group[name] for name in ("lr", "weight_decay")} for group in optimizer.param_groups
    ]


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    optimizer.zero_grad()
    loss_of(model, batch(step, rank=0)).backward()
    optimizer.step()
