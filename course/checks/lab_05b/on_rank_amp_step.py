"""What the checks of `amp_step` do on each rank: whole steps in mixed precision."""

import importlib

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from course.checks.tools.recorder import recorded
from course.checks.tools.reference import Small, batch, furthest, loss_of, weights

INF = float("inf")

PARTS = (3, 1, 2)  # of the batch, by step

SCALE = 1000.3  # which neither float16 nor bfloat16 has, nor a third of it

NORM = 2.5  # of the first three steps two are clipped, so that both kinds are compared


def parts_of(step: int, rank: int) -> list[tuple[Tensor, Tensor]]:
    """The parts of one rank's batch in one step."""
    return [batch(max(PARTS) * step + part, rank) for part in range(PARTS[step])]


def optimizer_of(model: Small) -> torch.optim.Optimizer:
    """SGD with momentum, which steps the heads more slowly."""
    groups = [
        {"params": model.layers.parameters()},
        {"params": model.heads.parameters(), "lr": 0.05},
    ]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9)


def stepped(factors: tuple[float, ...]) -> dict[float, tuple[list[float], list[Tensor], list]]:
    """By initial scale: the norms that `train_step` returned and the weights; for each step, with
    how many parts each of DDP's messages came, and the number of all messages.
    """
    results = {}
    for factor in factors:
        model = DistributedDataParallel(Small(seed=0))
        counter = Counter()
        model.register_comm_hook(counter, _counting)
        scaler = torch.amp.GradScaler("cpu", init_scale=factor)
        optimizer = optimizer_of(model.module)
        norms, counts = [], []
        for step in range(len(PARTS)):
            counter.parts, counter.sent = 0, []
            parts = parts_of(step, dist.get_rank())
            with recorded() as calls:
                norms.append(_step(model, parts, optimizer, scaler, loss=counter.loss_of))
            counts.append((counter.sent, len(calls)))
        results[factor] = norms, weights(model), counts
    return results


class Counter:
    """Counts the parts of a step, and notes in `sent` how many there were at each message."""

    parts: int
    sent: list[int]

    def loss_of(self, model: torch.nn.Module, part: tuple[Tensor, Tensor]) -> Tensor:
        """The loss of a part."""
        self.parts += 1
        return loss_of(model, part)


def _counting(counter: Counter, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """DDP's own averaging, noted by the counter."""
    counter.sent.append(counter.parts)
    average = bucket.buffer().div_(dist.get_world_size())
    return (
        dist.all_reduce(average, async_op=True).get_future().then(lambda future: future.value()[0])
    )


def _step(
    model, parts, optimizer, scaler, dtype: torch.dtype = torch.float32, loss=loss_of
) -> float:
    """The learner's `train_step`."""
    own = importlib.import_module("amp_step").train_step
    return own(model, parts, loss, optimizer, scaler, dtype, NORM)


def step_alone(world_size: int) -> tuple[list[float], list[Tensor]]:
    """The reference: one process, whole batches, no scale; the norms and the weights."""
    model, norms = Small(seed=0), []
    optimizer = optimizer_of(model)
    for step in range(len(PARTS)):
        parts = [part for rank in range(world_size) for part in parts_of(step, rank)]
        optimizer.zero_grad()
        loss_of(model, tuple(torch.cat(column) for column in zip(*parts, strict=True))).backward()
        norms.append(clip_grad_norm_(model.parameters(), NORM).item())
        optimizer.step()
    return norms, weights(model)


def formats() -> dict[str, dict[str, object]]:
    """By requested format: what a step's forward, losses and backward have seen."""
    results = {}
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        model = DistributedDataParallel(Small(seed=0))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
        watcher = Watcher(model.module)
        _step(model, parts_of(0, dist.get_rank()), optimizer, scaler, dtype, watcher.loss_of)
        results[str(dtype)] = watcher.seen
    return results


class Watcher:
    """Notes formats in the forward pass of a model, and what reaches its losses in backward."""

    def __init__(self, model: Small) -> None:
        self.layer = model.layers[0]
        self.layer.register_forward_hook(self._forward)
        names = ("a layer's output", "a product beside the loss", "weights", "inside")
        self.seen: dict = {"parts": 0, "gradients of the losses": []} | {n: set() for n in names}

    def loss_of(self, model: torch.nn.Module, part: tuple[Tensor, Tensor]) -> Tensor:
        """The loss of a part; a product of float32 numbers tells whether autocast is on."""
        loss, ones = loss_of(model, part), torch.ones(2, 2)
        self.seen["a product beside the loss"].add(str((ones @ ones).dtype))
        loss.register_hook(lambda g: self.seen["gradients of the losses"].append(g.item()))
        return loss

    def _forward(self, layer: torch.nn.Module, inputs: tuple, output: Tensor) -> None:
        self.seen["parts"] += 1
        self.seen["a layer's output"].add(str(output.dtype))
        self.seen["weights"].add(str(layer.weight.dtype))
        output.register_hook(
            lambda gradient: self.seen["inside"].add(torch.is_autocast_enabled("cpu"))
        )


def overflow() -> dict[str, object]:
    """A step in which rank 1's first part overflows, then a good one."""
    model = DistributedDataParallel(Small(seed=0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    before = weights(model)
    bad = parts_of(0, dist.get_rank())
    if dist.get_rank() == 1:
        bad[0] = (bad[0][0], torch.full_like(bad[0][1], INF))
    norm = _step(model, bad, optimizer, scaler)
    still = all(torch.equal(a, b) for a, b in zip(before, weights(model), strict=True))
    results = {"norm": norm, "moved": not still, "scale": scaler.get_scale()}
    results["left"] = any(
        p.grad is not None and bool((p.grad != 0).any()) for p in model.parameters()
    )
    results["training"] = model.training
    _step(model, parts_of(1, dist.get_rank()), optimizer, scaler)
    after = weights(model)
    finite = all(bool(tensor.isfinite().all()) for tensor in after)
    return results | {
        "learns": finite and furthest(before, after) > 0,
        "tracker": scaler.state_dict()["_growth_tracker"],
    }
