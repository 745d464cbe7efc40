"""One rank's profiler trace: when the rank computed and communicated in each profiled step.

`torch.profiler` writes Chrome's trace format, times in µs. On the CPU a rank computes while an ATen
operator runs; on a GPU, while a kernel runs. Communication is Gloo's events, on separate threads,
or NCCL's kernels. Both begin when this rank takes part, so they include waiting for slower ranks.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.charts.intervals import Interval, close_pauses, difference, intersection, length, union
from course.core import CourseError

PAUSE_MS = 0.2  # Python between two operators is computing too; a longer pause is not
KERNEL_PAUSE_MS = 0.02  # between a kernel and the next one, already launched
# The events of a phase: those of autograd and the optimizer, and ranges that the script named.
RANGES = {
    "optimizer": re.compile(r"optimizer$|Optimizer\."),
    "backward": re.compile(r"autograd::engine::evaluate_function"),
    "forward": re.compile(r"forward$|DistributedDataParallel\.forward"),
}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
NCCL_KERNEL = re.compile(r"nccl(?:Dev)?Kernel_?([A-Z][A-Za-z]*)?")

Communication = tuple[float, float, str]  # start and end in ms, and the collective


@dataclass(frozen=True)
class ProfiledStep:
    """One step of one rank; intervals in ms since the step began."""

    number: int
    start_ms: float  # on the clock of the host
    step_ms: float
    phases: dict[str, list[Interval]]  # forward, backward, optimizer, other: when the rank computed
    comm: list[Communication]

    @property
    def communicating(self) -> list[Interval]:
        """The intervals in which at least one collective was under way."""
        return union((start, end) for start, end, _ in self.comm)

    @property
    def comm_ms(self) -> float:
        """The time in which at least one collective was under way."""
        return length(self.communicating)

    @property
    def exposed_ms(self) -> float:
        """The time of communication in which this rank computed nothing."""
        computing = union(interval for intervals in self.phases.values() for interval in intervals)
        return length(difference(self.communicating, computing))

    @property
    def overlap(self) -> float:
        """The share of the communication that ran while this rank computed, 0 to 1.

        It is nan without communication.
        """
        return 1 - self.exposed_ms / self.comm_ms if self.comm_ms else float("nan")


@dataclass(frozen=True)
class Activity:
    """A kernel, a copy or a memset on a GPU; times are in seconds since 1970.

    `launched` is when the CPU requested it, or its start if the trace does not have that.
    """

    name: str
    start: float
    end: float
    launched: float

    @property
    def is_message(self) -> bool:
        """Whether it is an NCCL kernel, which lasts until all ranks have arrived."""
        return bool(NCCL_KERNEL.match(self.name))

    @property
    def is_copy(self) -> bool:
        """Whether it copies from the host."""
        return self.name.startswith("Memcpy HtoD")


@dataclass(frozen=True)
class _Event:
    name: str
    category: str
    thread: Any
    start: float  # ms
    end: float
    correlation: int | None  # links a kernel to its launch

    @property
    def interval(self) -> Interval:
        return self.start, self.end


def read(path: Path) -> tuple[str, list[ProfiledStep]]:
    """The host and the profiled steps of the trace at `path`.

    Raises `CourseError` if it is not a trace of `torch.profiler`, or has no profiled step.
    """
    trace, events = _load(path)
    marks = sorted((e for e in events if _is_step(e)), key=lambda event: event.start)
    if not marks:
        raise CourseError(
            f"{path} has no profiled step: call the profiler's step() after each training step."
        )
    on_gpu = any(_is_kernel(event) for event in events)
    steps = _gpu_steps(marks, events) if on_gpu else _cpu_steps(marks, events)
    return trace.get("host_name", ""), steps


def activities(path: Path) -> list[Activity]:
    """All activities of a GPU in the trace at `path`, sorted by start.

    Raises `CourseError` if it is not a trace of `torch.profiler`.
    """
    trace, events = _load(path)
    base_s = int(trace.get("baseTimeNanoseconds", 0)) / 1e9  # missing in older traces: from 1970
    starts = _launches(events)
    work = [
        Activity(
            e.name,
            base_s + e.start / 1e3,
            base_s + e.end / 1e3,
            base_s + starts.get(e.correlation, e.start) / 1e3,
        )
        for e in events
        if e.category in DEVICE
    ]
    return sorted(work, key=lambda piece: piece.start)


def _load(path: Path) -> tuple[dict[str, Any], list[_Event]]:
    try:
        trace = json.loads(path.read_text(encoding="utf-8"))
        return trace, [_event(raw) for raw in trace["traceEvents"] if raw.get("ph") == "X"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CourseError(
            f"{path} is not a trace of torch.profiler ({error}): run the profiled script again."
        ) from None


def _event(raw: dict[str, Any]) -> _Event:
    start = raw["ts"] / 1e3
    correlation = raw.get("args", {}).get("correlation")
    return _Event(
        raw["name"],
        raw.get("cat", ""),
        raw.get("tid"),
        start,
        start + raw["dur"] / 1e3,
        correlation,
    )


def _is_step(event: _Event) -> bool:
    return event.name.startswith("ProfilerStep#") and event.category == "user_annotation"


def _is_kernel(event: _Event) -> bool:
    return event.category == "kernel"


def _ranges(events: Sequence[_Event]) -> dict[str, list[Interval]]:
    """The intervals of each phase on the CPU.

    Time that belongs to two phases counts for the first of them in `RANGES`.
    """
    phases: dict[str, list[Interval]] = {}
    taken: list[Interval] = []
    for phase, pattern in RANGES.items():
        # The GPU's own copies of these ranges have another category.
        marked = [
            e.interval
            for e in events
            if e.category in ("user_annotation", "cpu_op") and pattern.match(e.name)
        ]
        phases[phase] = difference(close_pauses(union(marked), PAUSE_MS), taken)
        taken = union([*taken, *phases[phase]])
    return phases


def _step(
    mark: _Event,
    start: float,
    end: float,
    phases: dict[str, list[Interval]],
    comm: list[Communication],
) -> ProfiledStep:
    """Make a step whose times count from `start`."""
    relative = {
        phase: [(a - start, b - start) for a, b in intervals]
        for phase, intervals in phases.items()
        if intervals
    }
    number = int(mark.name.partition("#")[2])
    return ProfiledStep(
        number,
        start,
        end - start,
        relative,
        [(a - start, b - start, name) for a, b, name in sorted(comm)],
    )


def _cpu_steps(marks: Sequence[_Event], events: Sequence[_Event]) -> list[ProfiledStep]:
    gloo = [event for event in events if event.name.startswith("gloo:")]
    helpers = {event.thread for event in gloo} - {mark.thread for mark in marks}
    busy = union(
        e.interval for e in events if e.name.startswith("aten::") and e.thread not in helpers
    )
    # A pause after a call of torch.distributed is a wait, however short.
    busy = close_pauses(
        busy, PAUSE_MS, [event.start for event in events if event.name.startswith("c10d::")]
    )
    ranges = _ranges(events)
    steps = []
    for mark in marks:
        computing = intersection(busy, [mark.interval])
        phases = {phase: intersection(computing, intervals) for phase, intervals in ranges.items()}
        phases["other"] = difference(
            computing, union(i for intervals in phases.values() for i in intervals)
        )
        comm = [
            (e.start, e.end, e.name.removeprefix("gloo:"))
            for e in gloo
            if mark.start <= e.start < mark.end
        ]
        steps.append(_step(mark, *mark.interval, phases, comm))
    return steps


def _gpu_steps(marks: Sequence[_Event], events: Sequence[_Event]) -> list[ProfiledStep]:
    """Steps as the GPU sees them: each lasts until the first kernel of the next step."""
    kernels = _launched(events)
    ranges = _ranges(events)
    by_step = [[(at, e) for at, e in kernels if mark.start <= at < mark.end] for mark in marks]
    marked = [(mark, ours) for mark, ours in zip(marks, by_step, strict=True) if ours]
    starts = [min(e.start for _, e in ours) for _, ours in marked]
    ends = [*starts[1:], max(e.end for _, e in marked[-1][1])] if marked else []
    return [
        _step(mark, start, end, *_sorted_kernels(ours, ranges))
        for (mark, ours), start, end in zip(marked, starts, ends, strict=True)
    ]


def _launched(events: Sequence[_Event]) -> list[tuple[float, _Event]]:
    """Every kernel with the moment when the CPU launched it, in ms."""
    launched = _launches(events)
    return [
        (launched[e.correlation], e) for e in events if _is_kernel(e) and e.correlation in launched
    ]


def _launches(events: Sequence[_Event]) -> dict[int | None, float]:
    """The time at which the CPU requested each kernel or copy, in ms, by its correlation."""
    return {e.correlation: e.start for e in events if e.category in ("cuda_runtime", "cuda_driver")}


def _sorted_kernels(
    kernels: Sequence[tuple[float, _Event]], ranges: dict[str, list[Interval]]
) -> tuple[dict[str, list[Interval]], list[Communication]]:
    """Sort kernels into the intervals of each phase, and the communication by NCCL."""
    phases: dict[str, list[Interval]] = {phase: [] for phase in (*RANGES, "other")}
    comm: list[Communication] = []
    for at, kernel in kernels:
        if match := NCCL_KERNEL.match(kernel.name):
            comm.append((*kernel.interval, _snake(match[1] or "nccl")))
        else:
            phases[_phase_at(at, ranges)].append(kernel.interval)
    joined = {
        phase: close_pauses(union(intervals), KERNEL_PAUSE_MS)
        for phase, intervals in phases.items()
    }
    return joined, comm


def _phase_at(moment: float, ranges: dict[str, list[Interval]]) -> str:
    return next(
        (
            phase
            for phase, intervals in ranges.items()
            if any(a <= moment < b for a, b in intervals)
        ),
        "other",
    )


def _snake(name: str) -> str:
    """`AllReduce` as ``all_reduce``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
