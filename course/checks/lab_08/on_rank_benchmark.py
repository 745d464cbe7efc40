"""What the checks of `benchmark` do on each rank: steps whose true rate is known."""

import importlib
import time
import timeit
from collections.abc import Callable

import torch
import torch.distributed as dist

from course.core import interceptor

SAMPLES = 10  # of a step
STEPS = 5  # of a round, unless a check says otherwise
STEP_S = 0.01
LATE_S = 0.4
RATE = SAMPLES / STEP_S  # samples per second that one rank truly gets done
CLOCKS = ("perf_counter", "monotonic", "time")
MEETINGS = ("barrier", "monitored_barrier", "all_reduce", "all_gather", "all_gather_object")


class Clock:
    """This rank's time in seconds, which passes only when a check says so.

    So a busy machine changes no result.
    Ranks that meet in one of `MEETINGS` leave it together, when the last has come.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._meetings = interceptor.intercepted(self.meet, MEETINGS, homes=(dist,))
        self._meetings.__enter__()  # for good
        for name in CLOCKS:
            setattr(time, name, lambda: self.now)
            setattr(time, f"{name}_ns", lambda: round(self.now * 1e9))
        importlib.reload(timeit)  # its timer is one of these clocks, as it finds it

    def sleep(self, seconds: float = STEP_S) -> None:
        """Let time pass."""
        self.now += seconds

    def meet(self, name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        """Make a call in which ranks meet, after a wait for the rank that is latest."""
        latest = torch.tensor(self.now, dtype=torch.float64)
        dist.all_reduce(latest, dist.ReduceOp.MAX)
        self.now = latest.item()
        return real(*args, **kwargs)


def measure(
    step: Callable, samples: float = SAMPLES, rounds: int = 2, steps: int = STEPS, warmup: int = 3
) -> list[float]:
    """The rates that the learner's function measures of a step."""
    throughput = importlib.import_module("benchmark").throughput
    rates = throughput(step, samples, rounds=rounds, steps=steps, warmup=warmup)
    return [float(rate) for rate in rates]


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


class AsyncDevice:
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
    return measure(AsyncDevice().step)


def left_over() -> list[float]:
    """Work of the warm-up that goes on for long."""
    return measure(AsyncDevice(first=0.3).step)


def late() -> list[float]:
    """Steps that talk, on a rank 1 that takes longer for the last step before each round."""
    clock, taken = Clock(), []

    def step() -> None:
        dist.all_reduce(torch.ones(1))
        clock.sleep()
        taken.append(1)
        last = 3, 3 + STEPS  # of the warm-up and of the first round
        if len(taken) in last and dist.get_rank() == 1:
            clock.sleep(LATE_S)

    return measure(step)


def late_queue() -> list[float]:
    """Steps that talk, on a rank 1 whose GPU is still busy with the warm-up for long."""
    device = AsyncDevice(first=LATE_S * dist.get_rank())

    def step() -> None:
        dist.all_reduce(torch.ones(1))
        device.step()

    return measure(step)


def slow_in_turns() -> list[float]:
    """Rank 1 takes twice as long in the first round, rank 0 in the second."""
    clock, taken = Clock(), []

    def step() -> None:
        taken.append(1)
        slow = 1 if len(taken) <= 3 + STEPS else 0
        clock.sleep(STEP_S * (2 if dist.get_rank() == slow else 1))

    return measure(step)


def seconds() -> float:
    """What `round_seconds` returns; rank 1 takes twice as long."""
    clock = Clock()
    step_s = STEP_S * (1 + dist.get_rank())
    round_seconds = importlib.import_module("benchmark").round_seconds
    return float(round_seconds(lambda: clock.sleep(step_s), STEPS))


def uneven(samples: tuple[float, float]) -> list[float]:
    """Measure steps in which the two ranks have these numbers of samples."""
    clock = Clock()
    return measure(clock.sleep, samples=samples[dist.get_rank()])
