"""What the checks of `hvd_state` do on each rank, over the engine."""

import importlib
import itertools

import torch
import torch.distributed as dist
from torch import nn

from course.checks.engine.reference import OPTIMIZERS, Small, batch, furthest, loss_of, weights
from course.checks.lab_06.on_rank_hvd_engine import calls_of_the_engine, running_engine
from course.given.horovod import engine


def parameters(root: int) -> dict[str, float]:
    """How far this rank's tensors are from the root's afterwards, for each form of `params`."""
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
            model, wanted = Small(seed=dist.get_rank()), Small(seed=root)
            state.broadcast_parameters(of(model), root_rank=root)
            # named_parameters() leaves out the buffers
            compared = nn.Module.parameters if "generator" in form else weights
            off[form] = furthest(list(compared(model)), list(compared(wanted)))
    return off


def _in_own_order(model: nn.Module) -> dict[str, torch.Tensor]:
    """The state dict of `model`, in reverse on rank 1."""
    items = list(model.state_dict().items())
    return dict(reversed(items) if dist.get_rank() == 1 else items)


def begun_before_waiting() -> tuple[int, int]:
    """How many broadcasts of a state dict have begun when one is first waited for; all of them."""
    state = importlib.import_module("hvd_state")
    tensors = Small(seed=0).state_dict()
    with running_engine(), calls_of_the_engine() as calls:
        state.broadcast_parameters(tensors, root_rank=0)
    return len(list(itertools.takewhile("submit".__eq__, calls))), len(tensors)


def objects() -> dict[int, tuple[tuple[int, int], list[int], int]]:
    """By root: what this rank gets of two objects, and how many operations the second takes.

    The objects have other lengths on other ranks.
    """
    state, got = importlib.import_module("hvd_state"), {}
    rank, lengths = dist.get_rank(), (3, 40_000, 10)
    with running_engine():
        runner = engine().runner
        for root in (0, 1):
            described = state.broadcast_object({"rank": rank, "text": "x" * lengths[rank]}, root)
            before = runner.messages
            listed = state.broadcast_object([rank] * (rank + 1), root, name="list")
            sent = runner.messages - before
            got[root] = (described["rank"], len(described["text"])), listed, sent
    return got


def optimizer_state() -> dict[str, object]:
    """By optimizer, once rank 1's state went to all: the learning rate, and how far the weights are
    off two steps later.
    """
    state = importlib.import_module("hvd_state")
    rank, root, made = dist.get_rank(), 1, {}
    with running_engine():
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
