"""Hooks run when a script calls a function, and leave nothing behind; facts about a loader."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, TensorDataset

from course.diagnostics.watch.hook_set import COLLECTIVES, HookSet
from course.diagnostics.watch.loader_facts import length, sampler_of

DATA = TensorDataset(torch.zeros(4, 1))


def train() -> None:
    """Draw one batch and take one step."""
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in DataLoader(DATA, 4):
        weight.sum().backward()
        optimizer.step()


def test_hooks_are_called_until_they_are_removed() -> None:
    calls: list[str] = []

    def note(name: str, real: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> object:
        calls.append(name)
        return real(*args, **kwargs)

    before = DataLoader.__iter__, torch.autograd.backward
    hooks = HookSet()
    hooks.loaders(note, note, note)
    hooks.around(note, ("backward",), torch.autograd)
    hooks.steps(lambda *_: calls.append("before"), lambda *_: calls.append("after"))
    train()
    draw = ["__next__", "_next_index"]
    assert calls == ["__iter__", *draw, "backward", "before", "after", *draw]
    hooks.remove()
    train()
    assert len(calls) == 8 and before == (DataLoader.__iter__, torch.autograd.backward)


def test_collectives_are_those_that_a_script_calls() -> None:
    assert {"all_reduce", "reduce_scatter_tensor", "broadcast_object_list"} <= set(COLLECTIVES)
    assert not [name for name in COLLECTIVES if name.startswith("_") or name == "barrier"]


@pytest.mark.parametrize("batches", [None, BatchSampler, "shard"])
def test_a_sampler_is_known_wherever_it_is(batches: object) -> None:
    sampler = DistributedSampler(DATA, num_replicas=2, rank=0)
    inner = BatchSampler(sampler, 2, drop_last=False)
    shard = SimpleNamespace(batch_sampler=inner)  # as accelerate's BatchSamplerShard has it
    loader = SimpleNamespace(
        sampler=sampler if batches is None else None,
        batch_sampler=None if batches is None else shard if batches == "shard" else inner,
    )
    assert sampler_of(loader) is sampler


def test_a_list_of_batches_has_no_sampler() -> None:
    assert sampler_of(DataLoader(DATA, batch_sampler=[[0, 1], [2, 3]])) is None


def test_what_has_no_length_has_none() -> None:
    class Broken(Sequence[int]):
        def __getitem__(self, index: Any) -> Any:
            return index

        def __len__(self) -> int:
            raise RuntimeError

    assert (length(DATA), length(Broken()), length(iter([]))) == (4, 0, 0)
