"""A training step whose parts have names, and its trace, which `course.charts.timeline` draws."""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.profiler import profile, record_function, schedule

WARM_UP, STEPS = 2, 3  # the first steps under the profiler are slow, so the trace omits them


def train(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Mapping[str, Tensor]) -> None:
    """Take a step of a model that returns its loss; a replica of lab 03 also runs `finish()`."""
    optimizer.zero_grad()
    with record_function("forward"):
        loss = model(**batch).loss
    loss.backward()
    if hasattr(model, "finish"):
        model.finish()
    with record_function("optimizer"):
        optimizer.step()
    if loss.is_cuda:
        torch.cuda.synchronize()  # so that steps do not overlap in a trace


def trace(step: Callable[[], None], name: str, steps: int = STEPS) -> None:
    """Write a trace of `steps` calls of `step` to ``traces/NAME/rankN.json`` on rank N."""
    folder = Path("traces", name)
    folder.mkdir(parents=True, exist_ok=True)
    dist.barrier()
    plan = schedule(wait=0, warmup=WARM_UP, active=steps, repeat=1)
    with profile(schedule=plan, acc_events=True) as profiler:
        for _ in range(WARM_UP + steps):
            step()
            profiler.step()
    profiler.export_chrome_trace(str(folder / f"rank{dist.get_rank()}.json"))
