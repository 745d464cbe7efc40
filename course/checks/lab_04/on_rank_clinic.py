"""What the checks of lab 04's clinic do on each rank."""

import importlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from course.checks.engine.reference import furthest, weights

PATIENCE_S = 3.0  # within a collective, once all ranks have arrived
HUNG = (
    "Timed out",
    "closed by peer",
    "reset by peer",
    "application timeout",
)  # Gloo's words for a rank that never comes


@contextmanager
def impatient() -> Iterator[None]:
    """Within it, a collective that some rank does not call fails soon; all ranks enter and leave together."""
    dist.barrier()
    dist.distributed_c10d._set_pg_timeout(timedelta(seconds=PATIENCE_S))
    try:
        yield
        dist.barrier()
    except RuntimeError as error:
        if not any(words in str(error) for words in HUNG):
            raise
        raise AssertionError(
            "the ranks wait for each other: not all of them make the same calls"
        ) from None
    finally:
        dist.distributed_c10d._set_pg_timeout(timedelta(seconds=60))


def causes(exercise: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """The causes that the learner names, and those there are to choose from."""
    module = importlib.import_module(exercise)
    return module.causes(), module.CAUSES


def _normed(seed: int) -> nn.Module:
    """A small model with buffers."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))


def _batches(count: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(6, 4, generator=generator) for _ in range(count)]


def _same_everywhere(model: nn.Module) -> bool:
    """Whether every rank has the parameters of rank 0 (buffers are made equal only before the next forward)."""
    firsts = [parameter.detach().clone() for parameter in model.parameters()]
    for first in firsts:
        dist.broadcast(first, src=0)
    return all(
        torch.equal(mine, first) for mine, first in zip(model.parameters(), firsts, strict=True)
    )


# -- hangs -------------------------------------------------------------------------------------------------------------


def validation_loss() -> tuple[float | None, float, bool, bool]:
    """What is said, what is right, whether the model trains on, and whether the ranks still hold the same weights."""
    module, model = importlib.import_module("cured_hangs"), DistributedDataParallel(_normed(0))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    (validation,) = _batches(1, seed=9)
    for batch in _batches(2, seed=dist.get_rank()):
        module.step(model, optimizer, batch)
    with impatient():
        said = module.validation_loss(model, validation)
    training = model.training
    right = model.module.eval()(validation).square().mean().item()
    model.module.train()
    with impatient():
        for batch in _batches(2, seed=10 + dist.get_rank()):
            module.step(model, optimizer, batch)
    return said, right, training, _same_everywhere(model)


def mean_on_rank_0() -> tuple[float | None, float]:
    """The mean that is said, and the rank's own loss afterwards."""
    loss = torch.tensor(1.0 + dist.get_rank())
    with impatient():
        said = importlib.import_module("cured_hangs").mean_on_rank_0(loss)
    return said, loss.item()


def add_up() -> dict[str, list[float]]:
    """The sums of three metrics, two of one shape, that every rank holds in an order of its own."""
    rank = dist.get_rank()
    metrics = {
        "right": torch.tensor([10.0 + rank]),
        "loss": torch.tensor([0.5]),
        "by class": torch.ones(3) * rank,
    }
    names = list(metrics)[rank:] + list(metrics)[:rank]
    mine = {name: metrics[name] for name in names}
    with impatient():
        importlib.import_module("cured_hangs").add_up(mine)
    return {name: tensor.tolist() for name, tensor in mine.items()}


def train_skipping(missing: dict[int, int]) -> tuple[int, bool]:
    """The steps taken of four, where rank r could not read batch ``missing[r]``; whether the weights are the same."""
    module, model = importlib.import_module("cured_hangs"), DistributedDataParallel(_normed(0))
    batches = _batches(4, seed=dist.get_rank())
    if dist.get_rank() in missing:
        batches[missing[dist.get_rank()]] = None
    with impatient():
        steps = module.train_skipping(model, torch.optim.SGD(model.parameters(), 0.1), batches)
    return steps, _same_everywhere(model)


def train_uneven() -> tuple[int, int, bool]:
    """How many batches this rank had, how many it trained on, and whether the weights are the same everywhere."""
    module = importlib.import_module("cured_hangs")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 4))
    trained = []
    module.step = _counting(module.step, trained)
    batches = _batches(5 - 2 * dist.get_rank(), seed=dist.get_rank())
    with impatient():
        module.train_uneven(model, torch.optim.SGD(model.parameters(), 0.1), batches)
    return len(batches), len(trained), _same_everywhere(model)


def _counting(real, calls: list):
    def step(model, optimizer, batch):
        calls.append(batch)
        return real(model, optimizer, batch)

    return step


# -- failures ----------------------------------------------------------------------------------------------------------


def fetch(folder: str) -> tuple[str, int]:
    """What this rank reads, and how often it downloaded; the download is slow, and half the text comes first."""
    path, called = Path(folder, "vocabulary.txt"), []

    def download(target: Path) -> None:
        called.append(target)
        target.write_text("young ")
        time.sleep(0.2)
        target.write_text("young old musician athlete")

    with impatient():
        return importlib.import_module("cured_fails").fetch(path, download), len(called)


def gather(lengths: list[int]) -> tuple[list[int], str]:
    """The tensors of all ranks together, rank r's being `lengths[r]` times the number r + 1; and their type."""
    rank = dist.get_rank()
    with impatient():
        together = importlib.import_module("cured_fails").gather(
            torch.full((lengths[rank],), rank + 1)
        )
    return together.tolist(), str(together.dtype)


class TwoHeads(nn.Module):
    """A body and two heads, of which a forward uses one."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body, self.heads = nn.Linear(4, 4), nn.ModuleList(nn.Linear(4, 2) for _ in range(2))

    def forward(self, x: torch.Tensor, head: int) -> torch.Tensor:
        """The output (N, 2) of that head."""
        return self.heads[head](self.body(x))


def wrap() -> tuple[float, bool]:
    """How far the weights are from those of one process after four steps, in which the ranks use different heads."""
    rank, world_size = dist.get_rank(), dist.get_world_size()
    module = importlib.import_module("cured_fails")
    DistributedDataParallel(
        nn.Linear(1, 1)
    )  # the first one imports much, which may take one rank longer than another
    with impatient():
        model, alone = module.wrap(TwoHeads()), TwoHeads()
        optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in (model, alone)]
        for number, head in enumerate((0, 1, rank % 2, 1 - rank % 2)):
            for optimizer in optimizers:
                optimizer.zero_grad()
            model(_batches(4, rank)[number], head).square().mean().backward()
            for other in range(world_size):
                used = head if number < 2 else (other if number == 2 else 1 - other) % 2
                (alone(_batches(4, other)[number], used).square().mean() / world_size).backward()
            for optimizer in optimizers:
                optimizer.step()
    return furthest(weights(model), weights(alone)), isinstance(model, DistributedDataParallel)


def save(folder: str) -> tuple[int, bool, list[str], bool]:
    """How many files this rank wrote, whether the snapshot was whole when it went on, what the folder holds.

    Last, whether the old snapshot was still whole when the new one had been written.
    """
    module, path = importlib.import_module("cured_fails"), Path(folder, "model.pt")
    real, written, whole, kept = torch.save, [], True, True

    def slow(state: dict, file: object, **options: object) -> None:
        nonlocal kept
        written.append(file)
        time.sleep(0.1)
        real(state, file, **options)
        kept &= (
            state["step"] == 0 or torch.load(path, weights_only=True)["step"] == state["step"] - 1
        )

    torch.save = slow
    with impatient():
        for step in range(3):
            module.save({"step": step, "weights": torch.zeros(1000)}, path)
            whole &= path.exists() and torch.load(path, weights_only=True)["step"] == step
            dist.barrier()
    return len(written), whole, sorted(file.name for file in path.parent.iterdir()), kept


# -- wrong results -----------------------------------------------------------------------------------------------------


def epochs() -> list[list[int]]:
    """The samples that this rank draws in each of three epochs."""
    sampler = DistributedSampler(range(12))
    loader = DataLoader(range(12), batch_size=3, sampler=sampler)
    batches = list(importlib.import_module("cured_lies").batches(loader, 3))
    drawn = [index for batch in batches for index in batch.tolist()]
    share = len(sampler)
    return [drawn[i : i + share] for i in range(0, len(drawn), share)]


def mean_loss(counts: list[int]) -> tuple[float, float]:
    """The gradient that DDP leaves, and the right one, where rank r has ``counts[r]`` losses."""
    words = [
        torch.arange(1.0, 1.0 + count).unsqueeze(1) * (1 + rank)
        for rank, count in enumerate(counts)
    ]
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
    with impatient():
        losses = model(words[dist.get_rank()]).squeeze(1)
        importlib.import_module("cured_lies").mean_loss(losses).backward()
    return model.module.weight.grad.item(), torch.cat(words).mean().item()


def write_lines(folder: str) -> str:
    """The file as this rank finds it when the function has returned; an older, longer one was there.

    Writing is slow: whoever wants to write in the folder waits before the file is opened.
    """
    path = Path(folder, "results.txt")
    if dist.get_rank() == 0:
        path.write_text("from an older run\n" * 40)

    def slow(event: str, given: tuple) -> None:
        if (
            event == "open"
            and str(given[0]).startswith(folder)
            and given[2] & (os.O_WRONLY | os.O_RDWR)
        ):
            time.sleep(0.2)

    sys.addaudithook(slow)
    with impatient():
        dist.barrier()
        lines = [f"rank {dist.get_rank()}: {number}" for number in range(2 + dist.get_rank())]
        importlib.import_module("cured_lies").write_lines(path, lines)
        return path.read_text()


def slowest(seconds: list[list[float]]) -> list[tuple[int, float]]:
    """What is said of each list of times, one a rank."""
    module = importlib.import_module("cured_lies")
    with impatient():
        return [tuple(module.slowest(times[dist.get_rank()])) for times in seconds]
