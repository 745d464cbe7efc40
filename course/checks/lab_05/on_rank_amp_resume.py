"""What the checks of `amp_resume` do on each rank: stop a job, and go on."""

import importlib
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course.checks.engine.reference import Small, batch, furthest, loss_of, weights

INF = float("inf")
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
            factor = INF if step in OVERFLOWS else 1.0
            loss = loss_of(self.model, batch(step, dist.get_rank()))
            self.scaler.scale(factor * loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()

    @property
    def state(self) -> tuple:
        """What `save` and `load` take."""
        return self.model, self.optimizer, self.scaler


def resumed(path: str) -> dict[str, object]:
    """A job that stops and goes on, beside one that never stops."""
    script = importlib.import_module("amp_resume")
    through, first, second = Job(seed=0), Job(seed=0), Job(seed=7)
    through.train(0, STEPS)
    first.train(0, STOP)
    script.save(Path(path), STOP, *first.state)
    step = script.load(Path(path), *second.state)
    loaded = second.scaler.state_dict()
    found = {"step": step, "scaler": loaded, "wanted": first.scaler.state_dict()}
    second.train(STOP, STEPS)
    return found | {"off": furthest(weights(through.model), weights(second.model))}


def saved(path: str) -> dict[str, object]:
    """Who writes, whether the file is whole when `save` returns, whether it loads without DDP."""
    script, job, writes = importlib.import_module("amp_resume"), Job(seed=3), []
    really = torch.save

    def slowly(*args: object, **kwargs: object) -> None:
        writes.append(dist.get_rank())
        time.sleep(0.4)
        really(*args, **kwargs)

    torch.save = slowly
    script.save(Path(path), 0, *job.state)
    found = {"wrote": bool(writes), "whole": Path(path).is_file()}
    dist.barrier()
    state = torch.load(path, weights_only=True)
    plain = Small(seed=0)
    plain.load_state_dict(state["model"])
    return found | {"names": sorted(state), "off": furthest(weights(plain), weights(job.model))}
