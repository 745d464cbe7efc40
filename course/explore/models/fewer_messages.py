"""The time to reach a loss, with a message in every step or after every H steps."""

from dataclasses import dataclass

from course.core import CourseError
from course.explore.models.alpha_beta import AlphaBeta

STEPS = 1000  # the steps in which DDP reaches the loss
HIDDEN = 2 / 3  # backward's share of computing, behind which DDP and its hooks send
ALPHA_US = 100.0  # the cost of even the shortest message, on an ordinary network
MBIT_PER_GB = 8000.0
WHOLE, HALF, FEW = "none", "16 bits", "largest 1 %"
COMPRESSIONS = (WHOLE, HALF, FEW)
BYTES = {WHOLE: 4.0, HALF: 2.0, FEW: 0.08}  # per number; 1 % take 8 each, with the index


@dataclass(frozen=True)
class TimeToLoss:
    """The seconds to reach the loss: those spent computing, and those spent only waiting."""

    compute_s: float
    wait_s: float

    @property
    def total_s(self) -> float:
        """The whole time."""
        return self.compute_s + self.wait_s

    @property
    def waiting_share(self) -> float:
        """The share of the time spent waiting, 0 to 1."""
        return self.wait_s / self.total_s


def message_s(ranks: int, mbit: float, parameters: float, compression: str = WHOLE) -> float:
    """The time in which all ranks combine one number per parameter in a ring.

    `mbit` is the speed of each rank's link in Mbit/s. All numbers are all-reduced, in 2(N - 1)
    messages with 1/N of them. The largest 1 % are gathered, in N - 1 messages with all numbers of a
    rank.
    """
    network, size = AlphaBeta.of(ALPHA_US, mbit / MBIT_PER_GB), parameters * BYTES[compression]
    if compression == FEW:
        return network.seconds(ranks - 1, (ranks - 1) * size)
    return network.seconds(2 * (ranks - 1), 2 * (ranks - 1) / ranks * size)


def training(
    ranks: int,
    mbit: float,
    parameters: float,
    compute_ms: float,
    every: int = 1,
    compression: str = WHOLE,
    extra: float = 0,
) -> TimeToLoss:
    """Time a run of `STEPS` steps, plus `extra` times as many, with a message after each `every`.

    A message in every step hides behind backward as far as it can, as with DDP. Rarer messages do
    not hide: all ranks wait. Raises `CourseError` for impossible numbers.
    """
    if ranks < 2 or every < 1 or extra < 0 or min(parameters, compute_ms) <= 0:
        raise CourseError(
            "A training needs two ranks, parameters, time to compute, and a message after some "
            "steps; it cannot need fewer than no extra steps."
        )
    steps, compute = STEPS * (1 + extra), compute_ms / 1e3
    message = message_s(ranks, mbit, parameters, compression)
    wait = max(0.0, message - HIDDEN * compute) if every == 1 else message / every
    return TimeToLoss(steps * compute, steps * wait)
