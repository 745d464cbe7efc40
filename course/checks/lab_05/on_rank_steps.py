"""What the checks of lab 05 do on each rank with a whole step in mixed precision, and with a checkpoint."""

import importlib
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from course.checks.engine.reference import Small, batch, furthest, loss_of, weights

INF = float("inf")

# -- a whole step ------------------------------------------------------------------------------------------------------

PARTS = 3
NORM = 2.5  # of the first three steps two are clipped, so that both kinds are compared


def parts_of(step: int, rank: int) -> list[tuple[Tensor, Tensor]]:
    """The parts of one rank's batch in one step."""
    return [batch(PARTS * step + part, rank) for part in range(PARTS)]


def stepped(
    factors: tuple[float, ...], steps: int = 3
) -> dict[float, tuple[list[float], list[Tensor], list[int]]]:
    """By initial scale: the norms that `train_step` returned, the weights, how often DDP sent in each step."""
    results = {}
    for factor in factors:
        model = DistributedDataParallel(Small(seed=0))
        sent: list[int] = []
        model.register_comm_hook(sent, _counting)
        scaler = torch.amp.GradScaler("cpu", init_scale=factor)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        norms, counts = [], []
        for step in range(steps):
            sent.clear()
            norms.append(_step(model, parts_of(step, dist.get_rank()), optimizer, scaler))
            counts.append(len(sent))
        results[factor] = norms, weights(model), counts
    return results


def _counting(sent: list[int], bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """DDP's own averaging, noted in `sent`."""
    sent.append(bucket.index())
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


def step_alone(world_size: int, steps: int = 3) -> tuple[list[float], list[Tensor]]:
    """The reference: one process, whole batches, no scale; the norms and the weights."""
    model, norms = Small(seed=0), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        parts = [part for rank in range(world_size) for part in parts_of(step, rank)]
        optimizer.zero_grad()
        loss_of(model, tuple(torch.cat(column) for column in zip(*parts, strict=True))).backward()
        norms.append(clip_grad_norm_(model.parameters(), NORM).item())
        optimizer.step()
    return norms, weights(model)


def formats() -> tuple[set[str], set[bool], int]:
    """Under bfloat16: formats of a layer's output, whether backward ran under autocast, how many parts were seen."""
    model = DistributedDataParallel(Small(seed=0))
    seen, inside = [], set()

    def keep(layer: torch.nn.Module, inputs: tuple, output: Tensor) -> None:
        seen.append(str(output.dtype))
        output.register_hook(lambda gradient: inside.add(torch.is_autocast_enabled("cpu")))

    model.module.layers[0].register_forward_hook(keep)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    _step(
        model, parts_of(0, dist.get_rank()), optimizer, torch.amp.GradScaler("cpu"), torch.bfloat16
    )
    return set(seen), inside, len(seen)


def overflow() -> dict[str, object]:
    """A step in which rank 1's first part overflows, then a good one."""
    model = DistributedDataParallel(Small(seed=0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    before = weights(model)
    bad = parts_of(0, dist.get_rank())
    if dist.get_rank() == 1:
        bad[0] = (bad[0][0], torch.full_like(bad[0][1], INF))
    _step(model, bad, optimizer, scaler)
    found = {"moved": furthest(before, weights(model)), "scale": scaler.get_scale()}
    found["left"] = any(
        p.grad is not None and bool((p.grad != 0).any()) for p in model.parameters()
    )
    _step(model, parts_of(1, dist.get_rank()), optimizer, scaler)
    after = weights(model)
    finite = all(bool(tensor.isfinite().all()) for tensor in after)
    return found | {
        "learns": finite and furthest(before, after) > 0,
        "tracker": scaler.state_dict()["_growth_tracker"],
    }


# -- save and go on ----------------------------------------------------------------------------------------------------

STEPS, STOP = 10, 5
OVERFLOWS = (2, 7)  # the stop lies between two good steps that the scaler counts


class Job:
    """A model, an optimizer and a scaler that train on one rank's batches."""

    def __init__(self, seed: int) -> None:
        self.model = DistributedDataParallel(Small(seed=seed))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.02)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=4)

    def train(self, first: int, last: int) -> None:
        """Steps `first` to `last` - 1, some of which overflow."""
        for step in range(first, last):
            self.optimizer.zero_grad()
            loss = loss_of(self.model, batch(step, dist.get_rank())) * (
                INF if step in OVERFLOWS else 1.0
            )
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    @property
    def parts(self) -> tuple:
        """What `save` and `load` take."""
        return self.model, self.optimizer, self.scaler


def resumed(path: str) -> dict[str, object]:
    """A job that stops and goes on, beside one that never stops."""
    script = importlib.import_module("amp_resume")
    through, first, second = Job(seed=0), Job(seed=0), Job(seed=7)
    through.train(0, STEPS)
    first.train(0, STOP)
    script.save(Path(path), STOP, *first.parts)
    step = script.load(Path(path), *second.parts)
    loaded = second.scaler.state_dict()
    found = {"step": step, "scaler": loaded, "wanted": first.scaler.state_dict()}
    second.train(STOP, STEPS)
    return found | {"off": furthest(weights(through.model), weights(second.model))}


def saved(path: str) -> dict[str, object]:
    """Who writes, whether the file is whole when `save` returns, and whether it loads without DDP."""
    script, job, writes = importlib.import_module("amp_resume"), Job(seed=3), []
    really = torch.save

    def slowly(*args: object, **kwargs: object) -> None:
        writes.append(dist.get_rank())
        time.sleep(0.4)
        really(*args, **kwargs)

    torch.save = slowly
    script.save(Path(path), 0, *job.parts)
    found = {"wrote": bool(writes), "whole": Path(path).is_file()}
    dist.barrier()
    state = torch.load(path, weights_only=True)
    plain = Small(seed=0)
    plain.load_state_dict(state["model"])
    return found | {"names": sorted(state), "off": furthest(weights(plain), weights(job.model))}
