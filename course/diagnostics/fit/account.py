"""Add up a ledger's events: the peak, what it is made of, and the memory over the steps."""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass

from course.diagnostics.fit import allocator
from course.diagnostics.fit.record import KINDS, Record

POINTS = 300  # of memory over the steps; a series has at least this many of many events
KEPT = ("weights", "gradients", "optimizer")  # kinds that the host may hold in place of a GPU


@dataclass(frozen=True)
class Traffic:
    """The collectives per step, on average over the steps after the first.

    `messages` is their number; `hops` and `nbytes` are sums over their `Message`s.
    """

    messages: float
    hops: float
    nbytes: float


@dataclass(frozen=True)
class Account:
    """The memory of one rank, in bytes.

    `by` has the bytes of each kind at the peak. `at` is the line of the script whose allocation
    reached the peak, in `step` (counted from 1), while the script was in `phase`, such as
    "backward". `series` has points in time, in steps, each with the bytes by kind. `host` is the
    most that weights, gradients and the optimizer's tensors took of the host's memory, if the
    script uses a GPU. `reserved` is the memory that torch's allocator needs for all tensors.
    """

    peak: int
    by: dict[str, int]
    at: str
    step: int
    phase: str
    series: list[tuple[float, dict[str, int]]]
    steps: int
    uses_gpu: bool
    host: int
    reserved: int
    traffic: Traffic


def add_up(record: Record) -> Account:
    """The account of a run; if it uses a GPU, only memory on the GPU counts."""
    counted = record.counted
    held: Counter[str] = Counter()
    by: dict[str, int] = {}
    total = peak = peak_number = peak_index = 0
    on_host = host = 0
    series = []
    every = max(1, len(record.events) // POINTS)
    for index, (number, change) in enumerate(record.events):
        kind = record.storages[number].kind
        if counted[number]:
            held[kind] += change
            total += change
            if total > peak:
                peak, peak_number, peak_index, by = total, number, index, dict(held)
        elif kind in KEPT:
            on_host += change
            host = max(host, on_host)
        if index % every == 0:
            series.append((time_in_steps(record, index), {name: held[name] for name in KINDS}))
    phases = [where for where, _ in record.phases]
    return Account(
        peak,
        {kind: by.get(kind, 0) for kind in KINDS},
        record.storages[peak_number].line if record.storages else "",
        1 + bisect_right(record.steps, peak_index),
        record.phases[bisect_right(phases, peak_index) - 1][1] if record.phases else "",
        series,
        len(record.steps),
        record.uses_gpu,
        host,
        allocator.smallest_gpu([event for event in record.events if counted[event[0]]], peak),
        _traffic(record),
    )


def _traffic(record: Record) -> Traffic:
    first, last = (record.steps[0], record.steps[-1]) if record.steps else (0, 0)
    messages = [message for message in record.messages if first <= message.when < last]
    steps = max(1, len(record.steps) - 1)
    return Traffic(
        len(messages) / steps,
        sum(message.hops for message in messages) / steps,
        sum(message.nbytes for message in messages) / steps,
    )


def time_in_steps(record: Record, index: int) -> float:
    """The time of an event: the number of steps before it, plus the fraction of its own step."""
    step = bisect_right(record.steps, index)
    begin = record.steps[step - 1] if step else 0
    end = record.steps[step] if step < len(record.steps) else len(record.events)
    return round(step + (index - begin) / max(1, end - begin), 3)
