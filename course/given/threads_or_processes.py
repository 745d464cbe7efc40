"""The same work done by one worker, by threads of one process, and by as many processes."""

import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread

import torch
from torch import nn

from course import log

Work = Callable[[], None]
KINDS = ("only Python", "small operations", "large operations")
SMALL = (30, 16, 4)  # layers, their width, and samples


def race(workers: int, rounds: int) -> None:
    """Log the time of `rounds` of each kind of work, done in each way, taking turns.

    Large operations take a third of the rounds.
    """
    fork, pipes = get_context("fork"), []
    for i in range(workers):  # before anything is computed here: threads and CUDA do not fork
        here, there = fork.Pipe()
        fork.Process(target=_serve, args=(there, i, workers), daemon=True).start()
        pipes.append(here)
    for kind in KINDS:
        works = [work(kind, i, workers) for i in range(workers)]
        ways = {
            "one worker": partial(by_threads, works[:1]),
            "threads": partial(by_threads, works),
            "processes": partial(by_processes, pipes, kind),
        }
        turns = rounds // 3 if kind == "large operations" else rounds
        for turn in range(-5, turns):  # the first five warm up
            for way, run in ways.items():
                start = time.perf_counter()
                run()
                if turn >= 0:
                    log(work=kind, way=way, round=turn, ms=1e3 * (time.perf_counter() - start))


def count() -> None:
    """Add up numbers in a loop of plain Python."""
    total = 0
    for number in range(50_000):
        total += number


def work(kind: str, i: int, workers: int) -> Work:
    """Make a few milliseconds of work for worker i, on one core or GPU, so that little disturbs it.

    Work that is large for a core is small for a GPU.
    """
    if kind == "only Python":
        return count
    on_gpus = torch.cuda.device_count() >= workers > 1
    large = (2, 4096, 4096) if on_gpus else (2, 1024, 96)
    layers, width, samples = SMALL if kind == "small operations" else large
    torch.set_num_threads(1)
    device = torch.device("cuda", i) if on_gpus else torch.device("cpu")
    model = nn.Sequential(*(nn.Linear(width, width) for _ in range(layers))).to(device)
    batch = torch.randn(samples, width, device=device)

    def step() -> None:
        model(batch).square().mean().backward()
        if on_gpus:
            torch.cuda.synchronize(device)

    return step


def by_threads(works: list[Work]) -> None:
    """Do each piece of work in its own thread; return when all are done."""
    running = [Thread(target=work) for work in works]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def by_processes(pipes: list[Connection], kind: str) -> None:
    """Do the work of this kind in every process; return when all have reported that it is done."""
    for pipe in pipes:
        pipe.send(kind)
    for pipe in pipes:
        pipe.recv()


def _serve(pipe: Connection, i: int, workers: int) -> None:
    mine = {kind: work(kind, i, workers) for kind in KINDS}
    while True:
        mine[pipe.recv()]()
        pipe.send("done")
