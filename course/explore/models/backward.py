"""A backward pass with all-reduces: how long they take, and how much of that is hidden."""

from dataclasses import dataclass

from course.core import words


@dataclass(frozen=True)
class Message:
    """Gradients that travel together, by their places in the order in which they become ready."""

    gradients: tuple[int, ...]
    mib: float
    start_ms: float
    end_ms: float


@dataclass(frozen=True)
class Backward:
    """A backward pass with its all-reduces; times in ms from the start of the pass."""

    ready_ms: tuple[float, ...]  # when each gradient is ready
    messages: tuple[Message, ...]

    @property
    def compute_ms(self) -> float:
        """The computing time of the backward pass."""
        return self.ready_ms[-1]

    @property
    def done_ms(self) -> float:
        """The time at which every gradient is averaged, so that the optimizer can step."""
        return max(self.compute_ms, self.messages[-1].end_ms)

    @property
    def comm_ms(self) -> float:
        """The time for which the network is busy."""
        return sum(message.end_ms - message.start_ms for message in self.messages)


def all_reduce_ms(mib: float, ranks: int, gb_per_s: float, latency_ms: float = 0.0) -> float:
    """The time of one ring all-reduce of `mib` MiB over links of `gb_per_s` (10⁹ bytes a second).

    Each rank sends 2(N-1)/N of the bytes; `latency_ms` is the cost of even the smallest
    all-reduce.
    """
    if ranks == 1:
        return 0.0
    return latency_ms + 2 * (ranks - 1) / ranks * mib * words.MIB / (gb_per_s * 1e9) * 1e3
