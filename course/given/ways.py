"""Compares ways to train one model on all ranks: the bytes of each, and the time of its steps.

A way is a function of a model and its layers. It returns what runs the model, what updates it, and
what to call after an update. A way whose script still has open TODOs is left out.
"""

import argparse
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.profiler import record_function

from course import log
from course.core import todo
from course.data import nli
from course.given import memory, profiled
from course.models import bert

STEPS = 3  # their lowest peak counts: Gloo may hold a message a little longer than its call

Trained = tuple[nn.Module, Optimizer, Callable[[], None]]
Way = Callable[[nn.Module, list[nn.Module]], Trained]
Batch = dict[str, Tensor]


def join() -> torch.device:
    """Join the other ranks, or run alone; return this rank's device."""
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    on_gpus = torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    device = torch.device("cuda", local_rank) if on_gpus else torch.device("cpu")
    if on_gpus:  # either every rank gets a GPU, or none does
        torch.cuda.set_device(device)
    else:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # or the optimizer opens GPU 0 on every rank
    alone = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    backend, bound = ("nccl", device) if on_gpus else ("gloo", None)
    dist.init_process_group(backend, device_id=bound, **alone)
    return device


def compare(ways: Sequence[Way], device: torch.device) -> None:
    """Run the ledger of these ways or their race, as the command line requests."""
    by_name = {way.__name__: way for way in ways}
    parser = argparse.ArgumentParser()
    parser.add_argument("measure", choices=("ledger", "race"))
    parser.add_argument("--ways", nargs="*", default=list(by_name), choices=by_name)
    parser.add_argument("--size", help="of the BERT: tiny, mini, wide")
    parser.add_argument("--pairs", type=int, help="in the batch of one rank")
    parser.add_argument("--rounds", type=int, default=6)
    args = parser.parse_args()
    chosen = {name: by_name[name] for name in args.ways}
    if args.measure == "ledger":
        ledger(chosen, device, args.size or "mini", args.pairs or 4)
    else:
        size, pairs = ("wide", 64) if device.type == "cuda" else ("mini", 16)
        race(chosen, device, args.size or size, args.pairs or pairs, args.rounds)


def ledger(ways: Mapping[str, Way], device: torch.device, size: str, pairs: int) -> None:
    """Log the bytes per parameter that this rank holds in each way, and those that a step sends.

    The model is a BERT of this size; a rank's batch has `pairs` pairs.
    """
    batch = _batch(pairs, device)
    for name, way in ways.items():
        with _unless_open():
            log(way=name, **_bytes(way, _model(size, device), batch))


def _bytes(way: Way, model: nn.Module, batch: Batch) -> dict[str, float]:
    count = sum(parameter.numel() for parameter in model.parameters())
    net, optimizer, after = way(model, list(model.bert.encoder.layer))
    peaks = []
    for _ in range(1 + STEPS):  # the optimizer has state from the first step on
        optimizer.zero_grad()
        with memory.Account() as account:
            net(**batch).loss.backward()
            trained = net.shards() if hasattr(net, "shards") else list(net.parameters())
            gradients = memory.held(p.grad for p in trained)
            peaks.append(account.peak)
            optimizer.step()
            after()
    inner = getattr(optimizer, "local", getattr(optimizer, "optim", optimizer))  # this rank's own
    state = memory.held(t for entry in inner.state.values() for t in entry.values() if t.dim())
    weights = memory.held([*net.parameters(), *trained])
    counted = {"weights": weights, "gradients": gradients, "state": state, "sent": account.sent}
    counted["peak"] = min(peaks[1:]) + state
    return {name: size / count for name, size in counted.items()}


def race(ways: Mapping[str, Way], device: torch.device, size: str, pairs: int, rounds: int) -> None:
    """Log the time of a step of each way, taking turns, and what a rank computes meanwhile.

    Then trace a step of each; the traces are written to ``traces/shard_WAY``.
    """
    batch, made = _batch(pairs, device), {}
    for name, way in ways.items():
        with _unless_open():
            model = _model(size, device)
            parameters = sum(parameter.numel() for parameter in model.parameters())
            operations = 6 * parameters * batch["input_ids"].numel()  # lab 08's rule of thumb
            trained = way(model, list(model.bert.encoder.layer))
            _step(trained, batch)  # to warm up
            made[name] = trained
    for number in range(rounds):
        for name, trained in made.items():
            dist.barrier()
            start = time.perf_counter()
            for _ in range(3):
                _step(trained, batch)
            took = (time.perf_counter() - start) / 3
            tflop_per_s = operations / took / 1e12
            log(way=name, round=number, step_ms=took * 1e3, tflop_per_s=tflop_per_s)
    for name, trained in made.items():
        profiled.trace(partial(_step, trained, batch), f"shard_{name}", steps=2)


def _step(trained: Trained, batch: Batch) -> None:
    net, optimizer, after = trained
    optimizer.zero_grad()
    with record_function("forward"):
        loss = net(**batch).loss
    loss.backward()
    with record_function("optimizer"):
        optimizer.step()
        after()
    if loss.is_cuda:
        torch.cuda.synchronize()


def _batch(pairs: int, device: torch.device) -> Batch:
    tokens = nli.tokenized("train", size=pairs)[:]
    return {name: tensor.to(device) for name, tensor in tokens.items()}


def _model(size: str, device: torch.device) -> nn.Module:
    torch.manual_seed(0)
    return bert(size).to(device)


@contextmanager
def _unless_open() -> Iterator[None]:
    """Skip a way whose script has open TODOs; rank 0 reports which."""
    try:
        yield
    except NotImplementedError:
        script = todo.script_of_open_todo(traceback.format_exc())
        if script is None:
            raise
        if dist.get_rank() == 0:
            _say_once(todo.sentence(script))


@cache
def _say_once(text: str) -> None:
    print(text)
