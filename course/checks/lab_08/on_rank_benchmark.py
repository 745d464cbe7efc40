"""What the checks of `benchmark` do on each rank: steps whose true rate is known."""

import importlib
import time

import torch
import torch.distributed as dist

SAMPLES = 10  # of a step
STEP_S = 0.01
RATE = SAMPLES / STEP_S  # samples per second that one rank truly gets done


class Clock:
    """This rank's time in seconds, which passes only where a check says so.

    So a busy machine changes no result.
    Ranks that meet in a barrier or an all-reduce leave it together, when the last has come.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._all_reduce = dist.all_reduce
        dist.all_reduce, dist.barrier = self.all_reduce, self.meet
        for name in ("perf_counter", "monotonic", "time"):
            setattr(time, name, lambda: self.now)

    def sleep(self, seconds: float = STEP_S) -> None:
        """Let time pass."""
        self.now += seconds

    def meet(self, *_: object, **__: object) -> None:
        """Wait for the rank that is latest."""
        latest = torch.tensor(self.now, dtype=torch.float64)
        self._all_reduce(latest, dist.ReduceOp.MAX)
        self.now = latest.item()

    def all_reduce(self, *args: object, **kwargs: object) -> object:
        """An all-reduce, in which ranks meet."""
        self.meet()
        return self._all_reduce(*args, **kwargs)


def measure(
    step, samples: int = SAMPLES, rounds: int = 2, steps: int = 5, warmup: int = 3
) -> list[float]:
    """What the learner's function says of a step."""
    throughput = importlib.import_module("benchmark").throughput
    return throughput(step, samples, rounds=rounds, steps=steps, warmup=warmup)


def slow_at_first() -> list[float]:
    """Three slow steps, then fast ones."""
    clock, left = Clock(), iter([20 * STEP_S] * 3)
    return measure(lambda: clock.sleep(next(left, STEP_S)))


def counted(rounds: int, steps: int, warmup: int) -> tuple[int, int]:
    """How many figures come back, and how many steps were taken."""
    clock, calls = Clock(), []

    def step() -> None:
        calls.append(1)
        clock.sleep()

    figures = measure(step, rounds=rounds, steps=steps, warmup=warmup)
    return len(figures), len(calls)


class Device:
    """A pretended GPU: a step returns at once; its work ends `STEP_S` after the work before it."""

    def __init__(self, first: float = 0.0) -> None:
        self.clock, self.first, self.free = Clock(), first, 0.0
        importlib.import_module("benchmark").synchronize = self.synchronize

    def step(self) -> None:
        """Hand out the work of a step, which takes a tenth of the time that the work takes."""
        self.clock.sleep(STEP_S / 10)
        self.free = max(self.free, self.clock.now) + STEP_S + self.first
        self.first = 0.0

    def synchronize(self) -> None:
        """Wait until all work is done."""
        self.clock.now = max(self.clock.now, self.free)


def behind_the_back() -> list[float]:
    """Work that goes on after the step has returned."""
    return measure(Device().step)


def left_over() -> list[float]:
    """Work of the warm-up that goes on for long."""
    return measure(Device(first=0.3).step)


def late() -> list[float]:
    """Steps that talk, on a rank 1 that arrives late for its first round."""
    clock, taken = Clock(), []

    def step() -> None:
        taken.append(1)
        clock.sleep()
        dist.all_reduce(torch.ones(1))
        if len(taken) == 3 and dist.get_rank() == 1:
            clock.sleep(0.4)

    return measure(step)


def one_is_slow() -> list[float]:
    """Rank 1 takes twice as long."""
    clock = Clock()
    return measure(lambda: clock.sleep(STEP_S * (1 + dist.get_rank())))


def uneven() -> list[float]:
    """Rank 1 has three times the samples."""
    clock = Clock()
    return measure(clock.sleep, samples=SAMPLES * (1 + 2 * dist.get_rank()))


def summary(rates: list[float]) -> tuple[float, ...]:
    """The learner's median and spread."""
    return tuple(importlib.import_module("benchmark").summary(rates))
