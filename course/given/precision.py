"""The tools of lab 05b: batches, formats and losses to look at, and the cost of a step."""

import time
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course.data import nli
from course.models import bert

Batch = dict[str, Tensor]
PROBES = 3  # steps that are timed before a race; the first one warms up
FEWEST, MOST = 40, 300  # steps of a race


def batches(steps: int, size: int, device: torch.device) -> Iterator[Batch]:
    """Yield this rank's `size` pairs for each of `steps` steps, the same in every run."""
    pairs = nli.tokenized("train")
    drawn = torch.Generator().manual_seed(0)
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for _ in range(steps):
        chosen = torch.randint(len(pairs), (size * world_size,), generator=drawn)
        yield _on(device, pairs[chosen[rank::world_size]])


def accuracy(model: nn.Module, device: torch.device) -> float:
    """The share of the validation pairs that `model` labels correctly; each rank counts its own."""
    pairs = nli.tokenized("validation")
    mine = _on(device, pairs[dist.get_rank() :: dist.get_world_size()])
    with torch.no_grad():
        right = (model(**mine).logits.argmax(-1) == mine["labels"]).float().sum()
    dist.all_reduce(right)
    return right.item() / len(pairs)


def _on(device: torch.device, batch: Batch) -> Batch:
    return {name: tensor.to(device) for name, tensor in batch.items()}


def watch(model: nn.Module) -> dict[str, torch.dtype]:
    """A dict that a run of `model` fills: each innermost layer's output format, by name."""
    formats: dict[str, torch.dtype] = {}

    def remember(name: str) -> Callable:
        def hook(layer: nn.Module, inputs: tuple, output: Tensor) -> None:
            formats[name] = output.dtype

        return hook

    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(remember(name))
    return formats


class LastLoss:
    """Computes the loss of a transformers model on a batch, and keeps the last as `value`."""

    value: Tensor

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        self.value = model(**batch).loss
        return self.value


class Cost:
    """The cost of a step inside it: ``row`` has its time, and on a GPU its memory.

    The memory is what the step needs beyond weights and the optimizer's state; torch keeps no such
    record for a CPU.
    """

    def __init__(self, device: torch.device) -> None:
        self.device, self.row = device, {}

    def __enter__(self) -> "Cost":
        if self.device.type == "cuda":
            torch.cuda.init()
            torch.cuda.synchronize(self.device)
            torch.cuda.reset_peak_memory_stats(self.device)
            self._held = torch.cuda.memory_allocated(self.device)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *failure: object) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            peak = torch.cuda.max_memory_allocated(self.device)
            self.row["peak_gib"] = (peak - self._held) / 2**30
        self.row["step_ms"] = 1e3 * (time.perf_counter() - self._start)


def affordable_steps(size: str, batch: int, ways: int, device: torch.device) -> int:
    """The steps of a race of `ways` ways: 40 on a CPU, what fits into a minute on a GPU.

    A GPU is timed on a BERT of this size; it does 40 to 300 steps, the same number on all ranks.
    """
    if device.type != "cuda":
        return FEWEST
    model, times = bert(size).to(device), []
    for pairs in batches(PROBES, batch, device):
        with Cost(device) as cost:
            model(**pairs).loss.backward()
        times.append(cost.row["step_ms"] / 1e3)
    slowest = torch.tensor(min(times), device=device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return min(MOST, max(FEWEST, int(60 / (ways * slowest.item()))))
