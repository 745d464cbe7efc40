"""What the checks of `parameter_server` do on each rank: rank 0 serves, the others work."""

import importlib
from dataclasses import dataclass, field

import torch
from torch import Tensor

from course.checks.lab_07.on_rank_strategy import begin
from course.checks.lab_07.on_rank_training import loader, step
from course.checks.tools.leaks import count_leaks
from course.checks.tools.reference import weights
from course.given import serving


def make(bound: float) -> object:
    """The learner's strategy."""
    return importlib.import_module("parameter_server").ParameterServer(bound=bound)


def serve(
    bound: float,
    sizes: tuple[int, ...],
    kind: str = "plain",
    optimizer: str = "SGD with momentum",
) -> tuple[list[Tensor], list[tuple[int, int]]]:
    """Train with a server and workers: this rank's weights, and the server's history."""
    strategy = begin(make(bound), kind, optimizer)
    for shares in strategy.distribute(loader(sizes)):
        strategy.run(step, shares)
    return weights(strategy.model), strategy.history


def one_worker(runs: list[tuple[str, str]], sizes: tuple[int, ...]) -> list[list[Tensor]]:
    """For each run (kind, optimizer) the weights on this rank after training with a server."""
    return [serve(0, sizes, *run)[0] for run in runs]


class AllWait(Exception):
    """Raised when every worker waits for an answer, so that nothing more can happen."""


@dataclass
class Workers:
    """The server's mailbox with workers that need no time: the first one in `order` that is not
    waiting for an answer sends the next message.

    So what the server sees does not depend on how busy the machine is. `left` has the steps that
    each worker still has to take.
    """

    bound: int
    order: tuple[int, ...]
    left: dict[int, int]
    length: int  # of a row of gradients
    sent: list[tuple[int, int]] = field(default_factory=list)  # (worker, version it had read)
    held_up: list[tuple[int, int]] = field(default_factory=list)  # (worker, steps ahead), in vain
    too_far: list[tuple[int, int]] = field(default_factory=list)  # the same, let go on

    def __post_init__(self) -> None:
        self.inbox, self.waiting, self.finished = self, set(), set()
        self.done, self.read = dict.fromkeys(self.left, 0), dict.fromkeys(self.left, 0)

    def listen(self, workers: object) -> None:
        """Do nothing: no worker is a process."""

    def get(self) -> tuple[int, int, Tensor]:
        """The next message: (worker, version, gradients)."""
        ahead = [(worker, self.ahead(worker)) for worker in sorted(self.waiting)]
        self.held_up += [(worker, steps) for worker, steps in ahead if steps <= self.bound]
        ready = [w for w in self.order if w not in self.waiting | self.finished]
        if not ready:
            raise AllWait
        worker = ready[0]
        if not self.left[worker]:
            self.finished.add(worker)
            return worker, serving.FINISHED, torch.zeros(self.length)
        self.left[worker] -= 1
        self.done[worker] += 1
        self.waiting.add(worker)
        self.sent.append((worker, self.read[worker]))
        return worker, self.read[worker], torch.zeros(self.length)

    def send(self, worker: int, version: int, numbers: object = None) -> None:
        """Take the server's answer to a worker."""
        if worker not in self.finished:
            if self.ahead(worker) > self.bound:
                self.too_far.append((worker, self.ahead(worker)))
            self.waiting.remove(worker)
            self.read[worker] = version

    def ahead(self, worker: int) -> int:
        """How many steps a worker is ahead of the slowest that still trains."""
        return self.done[worker] - min(self.done[w] for w in self.done if w not in self.finished)


def play(bound: int, order: tuple[int, ...], steps: tuple[int, ...]) -> dict:
    """What the learner's server does with workers that take that many steps each: see `Workers`."""
    server = make(bound)
    server.workers = len(steps)
    strategy = begin(server)
    left = dict(enumerate(steps, start=1))
    strategy.mail = workers = Workers(bound, order, left, strategy.mail.length)
    try:
        ended = not list(strategy.distribute([]))
    except AllWait:
        ended = False
    return {
        "ended": ended,
        "sent": workers.sent,
        "history": [(int(worker), int(version)) for worker, version in strategy.history],
        "staleness": [int(number) for number in strategy.staleness()],
        "held up": workers.held_up,
        "too far": workers.too_far,
    }


def count_leaks_of_updates() -> int:
    """How many tensors the learner's server keeps of many updates."""
    server = make(0)
    server.workers = 1
    strategy = begin(server)
    length = strategy.mail.length
    tensors, _ = count_leaks(lambda number: strategy.apply(1, number, torch.zeros(length)))
    return tensors
