"""What the checks of `parameter_server` do on each rank: rank 0 serves, the others work."""

import importlib
import time
from collections.abc import Callable
from pathlib import Path

import torch.distributed as dist
from torch import Tensor, nn

from course.checks.engine.reference import OPTIMIZERS, weights
from course.checks.lab_07.on_rank_strategy import begin
from course.checks.lab_07.on_rank_training import loader, step

PATIENCE_S = 10.0  # for what has to happen soon, also on a busy machine
SETTLE_S = 0.3  # for what must not happen


def serve(
    bound: float,
    sizes: tuple[int, ...],
    optimizer: str = "SGD with momentum",
    work: Callable = step,
) -> tuple[list[Tensor], list[tuple[int, int]], list[int]]:
    """Train with a server and workers: this rank's weights; the server's history and staleness."""
    server = importlib.import_module("parameter_server").ParameterServer(bound=bound)
    strategy = begin(server, "plain", optimizer)
    for shares in strategy.distribute(loader(sizes)):
        strategy.run(work, shares)
    stale = strategy.staleness() if dist.get_rank() == 0 else []
    return weights(strategy.model), strategy.history, stale


def one_worker(sizes: tuple[int, ...]) -> dict[str, list[Tensor]]:
    """For each optimizer the weights on this rank after training with a server."""
    return {optimizer: serve(0, sizes, optimizer)[0] for optimizer in OPTIMIZERS}


def ahead(bound: int, folder: str) -> int:
    """How many steps worker 1 has begun before worker 2 ends its first."""
    begun, seen = Path(folder) / "begun", []
    rank = dist.get_rank()

    def work(model: nn.Module, share: object) -> Tensor:
        if rank == 1:
            with begun.open("a") as file:
                file.write(".")
        elif not seen:
            deadline = time.monotonic() + PATIENCE_S
            while _count(begun) <= bound and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(SETTLE_S)
            seen.append(_count(begun))
        return step(model, share)

    serve(bound, (4,) * 16, work=work)
    return seen[0] if rank == 2 else 0


def _count(file: Path) -> int:
    return len(file.read_text()) if file.exists() else 0
