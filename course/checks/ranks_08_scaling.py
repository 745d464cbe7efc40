"""What the checks of lab 08 do on each rank: hand the learner's benchmark steps whose true rate is known."""

import importlib
import time

import torch
import torch.distributed as dist

SAMPLES = 10  # of a step
STEP_S = 0.01
RATE = SAMPLES / STEP_S  # samples a second that one rank truly gets done


def measure(step, samples: int = SAMPLES, rounds: int = 2, steps: int = 5, warmup: int = 3) -> list[float]:
    """What the learner's function says of a step."""
    return importlib.import_module("benchmark").throughput(step, samples, rounds=rounds, steps=steps, warmup=warmup)


def sleeps(seconds: float = STEP_S):
    """A step that takes that long."""
    return lambda: time.sleep(seconds)


def slow_at_first() -> list[float]:
    """Three slow steps, then fast ones."""
    left = iter([20 * STEP_S] * 3)
    return measure(lambda: time.sleep(next(left, STEP_S)))


def counted(rounds: int, steps: int, warmup: int) -> tuple[int, int]:
    """How many figures come back, and how many steps were taken."""
    calls = []
    figures = measure(lambda: calls.append(1), rounds=rounds, steps=steps, warmup=warmup)
    return len(figures), len(calls)


class Device:
    """A pretended GPU: a step returns at once, and its work is done `STEP_S` after the work before it."""

    def __init__(self, first: float = 0.0) -> None:
        self.first, self.free = first, 0.0
        importlib.import_module("benchmark").synchronize = self.synchronize

    def step(self) -> None:
        self.free = max(self.free, time.perf_counter()) + STEP_S + self.first
        self.first = 0.0

    def synchronize(self) -> None:
        time.sleep(max(0.0, self.free - time.perf_counter()))


def behind_the_back() -> list[float]:
    """Work that goes on after the step has returned."""
    return measure(Device().step)


def left_over() -> list[float]:
    """Work of the warm-up that goes on for long."""
    return measure(Device(first=0.3).step)


def late() -> list[float]:
    """Steps that talk, on a rank 1 that arrives late for its first round."""
    taken = []

    def step() -> None:
        taken.append(1)
        time.sleep(STEP_S)
        if len(taken) > 3:
            dist.all_reduce(torch.ones(1))
        if len(taken) == 3 and dist.get_rank() == 1:
            time.sleep(0.4)

    return measure(step)


def one_is_slow() -> list[float]:
    """Rank 1 takes twice as long."""
    return measure(sleeps(STEP_S * (1 + dist.get_rank())))


def uneven() -> list[float]:
    """Rank 1 has three times the samples."""
    return measure(sleeps(), samples=SAMPLES * (1 + 2 * dist.get_rank()))


def summary(rates: list[float]) -> tuple[float, ...]:
    """The learner's median and spread."""
    return tuple(importlib.import_module("benchmark").summary(rates))


def call(module: str, function: str, cases: list[tuple]) -> list:
    """What a function of the learner's makes of each case."""
    found = getattr(importlib.import_module(module), function)
    return [found(*case) for case in cases]


def hierarchical(cases: list[tuple], inside: tuple[float, float], network: tuple[float, float]) -> list[float]:
    """The learner's seconds for each (bytes, nodes, GPUs a node), on links of (alpha, beta)."""
    script = importlib.import_module("predict")
    return [script.hierarchical(*case, script.Link(*inside), script.Link(*network)) for case in cases]
