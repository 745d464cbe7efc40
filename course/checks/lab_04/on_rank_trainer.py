"""What the checks of lab 04's trainer do on each rank."""

import importlib
import math
import tempfile
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn

from course.checks.tools.leaks import count_leaks
from course.checks.tools.recorder import recorded
from course.checks.tools.reference import furthest, weights


class Tiny(nn.Module):
    """A classifier that is called as BERT is: ``model(input_ids=…, labels=…)``."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 3)
        )
        self.register_buffer("shift", torch.tensor([0.1, 0.2, 0.3]))

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> SimpleNamespace:
        """The mean cross-entropy and the logits."""
        logits = self.layers(input_ids) + self.shift
        return SimpleNamespace(loss=nn.functional.cross_entropy(logits, labels), logits=logits)


def samples(size: int) -> list[dict[str, torch.Tensor]]:
    """Inputs (4,) and labels, always the same."""
    generator = torch.Generator().manual_seed(5)
    inputs, labels = (
        torch.randn(size, 4, generator=generator),
        torch.randint(3, (size,), generator=generator),
    )
    return [{"input_ids": row, "labels": label} for row, label in zip(inputs, labels, strict=True)]


def build(
    dropout: float, size: int = 22, snapshot: Path | None = None, **changed: object
) -> object:
    """The learner's trainer with a small model, on `size` samples; `changed` are options."""
    module = importlib.import_module("trainer")
    module.log = lambda **row: None
    torch.manual_seed(0)
    options = {
        "batch": 2,
        "accumulate": 2,
        "rate": 0.02,
        "warmup": 3,
        "epochs": 2,
        "every": 1,
        "snapshot": snapshot or Path(tempfile.mkdtemp(), "model.pt"),
    }
    return module.Trainer(
        Namespace(**options | changed), Tiny(dropout), samples(size), torch.device("cpu")
    )


def one_update(sizes: list[list[int]]) -> tuple[list[torch.Tensor], list[float]]:
    """This rank's weights after updates on windows whose batches have these sizes.

    Also the losses that the updates return.
    """
    trainer = build(dropout=0.0)
    trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=0.1)
    losses = [float(trainer.update(window)) for window in windows(sizes, dist.get_rank())]
    return weights(trainer.model), losses


def loss_of_nan() -> float:
    """The loss that an update returns if a number of its first batch is NaN."""
    trainer, (window,) = build(dropout=0.0), windows([[2, 2]], dist.get_rank())
    window[0]["input_ids"][0, 0] = math.nan
    return float(trainer.update(window))


def passes(sizes: list[int]) -> list[int]:
    """The pairs of each forward in an update on one window, whose batches have these sizes."""
    trainer, seen = build(dropout=0.0), []
    trainer.model.module.layers.register_forward_pre_hook(
        lambda layers, inputs: seen.append(len(inputs[0]))
    )
    trainer.update(windows([sizes], dist.get_rank())[0])
    return seen


def left_behind() -> tuple[int, bool]:
    """How many tensors ten updates leave in memory; whether the model is still in training mode."""
    trainer = build(dropout=0.0)
    tensors, _ = count_leaks(lambda number: trainer.update(windows([[2, 2]], dist.get_rank())[0]))
    return tensors, all(part.training for part in trainer.model.modules())


def windows(sizes: list[list[int]], rank: int) -> list[list[dict[str, torch.Tensor]]]:
    """Windows of batches of those sizes, other ones for every rank."""
    generator = torch.Generator().manual_seed(40 + rank)
    return [
        [
            {
                "input_ids": torch.randn(n, 4, generator=generator),
                "labels": torch.randint(3, (n,), generator=generator),
            }
            for n in window
        ]
        for window in sizes
    ]


def one_process(
    sizes: list[list[int]], world_size: int
) -> tuple[list[torch.Tensor], list[list[float]]]:
    """The weights of one process after the same updates, each on the batches of all ranks.

    Also, by rank, the mean losses of its pairs.
    """
    torch.manual_seed(0)
    model = Tiny(dropout=0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    by_rank, losses = [windows(sizes, rank) for rank in range(world_size)], []
    for number in range(len(sizes)):
        losses.append([model(**joined(rank[number])).loss.item() for rank in by_rank])
        model(**joined([batch for rank in by_rank for batch in rank[number]])).loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return weights(model), [list(of_rank) for of_rank in zip(*losses, strict=True)]


def joined(batches: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """One batch of all pairs of these."""
    return {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}


def messages(windows_of: list[int]) -> list[tuple[int, int]]:
    """How many buckets of gradients one update sends, for windows of that many batches.

    Also how many numbers it sends in all, in buckets or not.
    """
    trainer, sent = build(dropout=0.0), []

    def count(_: None, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        sent.append(bucket.buffer().numel())
        return (
            dist.all_reduce(bucket.buffer(), async_op=True)
            .get_future()
            .then(lambda done: done.value()[0])
        )

    trainer.model.register_comm_hook(None, count)
    counted = []
    for batches in windows_of:
        sent.clear()
        with recorded() as calls:
            trainer.update(windows([[2] * batches], dist.get_rank())[0])
        counted.append((len(sent), sum(call.elements for call in calls)))
    return counted


def rates(warmup: int, steps: int) -> list[float]:
    """The learning rates of the first steps and that of step 10,000, as shares of the full one."""
    trainer, seen = build(dropout=0.0, warmup=warmup), []
    for _ in range(steps):
        seen.append(trainer.optimizer.param_groups[0]["lr"])
        trainer.update(windows([[2]], dist.get_rank())[0])
    full = (
        0.02 * (2 * 2 * dist.get_world_size() / importlib.import_module("trainer").REFERENCE) ** 0.5
    )
    return [*(rate / full for rate in seen), trainer.share_of_rate(10_000)]


class Killed(Exception):
    """Stands for the end of the process."""


def resumed(shared: str, stops: list[int]) -> list[tuple[float, float, int, int]]:
    """Train without a break, and with one in front of update `at`, for each of these.

    Returns the largest difference between the two runs' weights, that between the weights of this
    rank and of rank 0, the step at which the second half began, and how many steps it took.
    """
    straight = build(dropout=0.5, warmup=5, snapshot=Path(shared, "straight.pt"))
    straight.run()
    return [_resumed(Path(shared, f"stopped_{at}.pt"), at, weights(straight.model)) for at in stops]


def _resumed(
    snapshot: Path, at: int, expected: list[torch.Tensor]
) -> tuple[float, float, int, int]:
    broken = build(dropout=0.5, warmup=5, snapshot=snapshot)
    go_on = broken.update

    def killed(window: list) -> torch.Tensor:
        if broken.step == at:
            raise Killed
        return go_on(window)

    broken.update = killed
    try:
        broken.run()
    except Killed:
        dist.barrier()
    torch.rand(3 + dist.get_rank())  # a new process would not stand where this one stopped
    second = build(dropout=0.5, warmup=5, snapshot=snapshot)
    begun, taken, update = second.step, [], second.update
    second.update = lambda window: taken.append(window) or update(window)
    second.run()
    mine = weights(second.model)
    others = [tensor.clone() for tensor in mine]
    for tensor in others:
        dist.broadcast(tensor, src=0)
    return furthest(expected, mine), furthest(mine, others), begun, len(taken)


def loaded_alone() -> tuple[list[str], list[str], bool]:
    """The names of the weights in the snapshot, and in the bare model; whether a module moved."""
    trainer = build(dropout=0.0)
    with ExitStack() as stack:
        moves = [
            stack.enter_context(mock.patch.object(nn.Module, name, autospec=True))
            for name in ("to", "cpu", "cuda")
        ]
        for move in moves:
            move.side_effect = lambda module, *args, **kwargs: module
        saved = sorted(trainer.state()["model"])
    return saved, sorted(Tiny(0.0).state_dict()), any(move.called for move in moves)


def evaluated() -> tuple[float, float, bool]:
    """The loss and the accuracy on ten samples, and whether the model trains on."""
    trainer = build(dropout=0.5)
    return (*trainer.evaluate(samples(10)), trainer.model.training)


def evaluated_alone() -> tuple[float, float]:
    """The same of one process."""
    torch.manual_seed(0)
    model, rows = Tiny(0.5).eval(), samples(10)
    output = model(**{name: torch.stack([row[name] for row in rows]) for name in rows[0]})
    right = output.logits.argmax(-1) == torch.stack([row["labels"] for row in rows])
    return output.loss.item(), right.float().mean().item()
