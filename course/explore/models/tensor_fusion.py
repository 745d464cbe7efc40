"""Tensor fusion as Horovod does it: in cycles, tensors that are ready share messages."""

from dataclasses import dataclass

from course.core import CourseError
from course.explore.models.backward import Backward, Message, all_reduce_ms

KIB_PER_MIB = 1024
NEGOTIATION_MS = 0.1  # the cost of even the shortest cycle


@dataclass(frozen=True)
class FusedBackward(Backward):
    """A backward pass whose gradients an engine reduces in cycles."""

    cycles_ms: tuple[float, ...]  # when each cycle began

    @property
    def wait_ms(self) -> float:
        """The mean time from when a tensor is ready until its message begins."""
        waits = [m.start_ms - self.ready_ms[i] for m in self.messages for i in m.gradients]
        return sum(waits) / len(waits)


def fuse(sizes_mib: list[float], threshold_mib: float) -> list[tuple[int, ...]]:
    """Group the positions of tensors of one kind into messages of up to the threshold.

    A larger tensor goes alone. Any other joins the first message that has room for it.
    """
    messages: list[list[int]] = []
    room: list[float] = []
    for i, mib in enumerate(sizes_mib):
        fits = next((k for k, free in enumerate(room) if mib <= free), None)
        if fits is None:
            messages.append([i])
            room.append(threshold_mib - mib)
        else:
            messages[fits].append(i)
            room[fits] -= mib
    return [tuple(message) for message in messages]


def schedule(
    tensors: int,
    kib: float,
    threshold_mib: float,
    cycle_ms: float,
    *,
    backward_ms: float = 20.0,
    ranks: int = 4,
    gb_per_s: float = 10.0,
    latency_ms: float = 0.3,
    hurry: bool = False,
) -> FusedBackward:
    """Time `tensors` of `kib` each, which are ready at equal intervals, and fused in cycles.

    A cycle takes what is ready when it begins. It begins `cycle_ms` after the one before, later if
    messages are still under way or nothing is ready; with `hurry`, no later than when the pass is
    over and the program waits. Raises `CourseError` for impossible values.
    """
    above_0 = (tensors, kib, cycle_ms, backward_ms, ranks, gb_per_s)
    if min(above_0) <= 0 or min(threshold_mib, latency_ms) < 0:
        raise CourseError(
            "A schedule needs tensors, ranks, a size, a cycle time, a pass and a bandwidth above 0."
        )
    ready = [backward_ms * (i + 1) / tensors for i in range(tensors)]
    cycles: list[float] = []
    messages: list[Message] = []
    sent, free = 0, 0.0
    while sent < tensors:
        begin = max(free, ready[sent], cycles[-1] + cycle_ms if cycles else 0.0)
        if hurry:
            begin = min(begin, max(free, ready[-1]))
        cycles.append(begin)
        count = sum(moment <= begin for moment in ready[sent:])
        free = begin + NEGOTIATION_MS
        for group in fuse([kib / KIB_PER_MIB] * count, threshold_mib):
            mib = kib / KIB_PER_MIB * len(group)
            start, free = free, free + all_reduce_ms(mib, ranks, gb_per_s, latency_ms)
            messages.append(Message(tuple(sent + i for i in group), mib, start, free))
        sent += count
    return FusedBackward(tuple(ready), tuple(messages), tuple(cycles))
