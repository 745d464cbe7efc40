"""Cut the steps of a GPU into slices, in the form of the main thread's, which only feeds the GPU.

While a kernel computes, the slice is of the kind of work for which the kernel was launched. NCCL's
kernels last until all ranks have come, so they are a wait if nothing computes at the same time. A
copy from the host is `copies` if nothing else runs at the same time. Otherwise the GPU is idle,
because the main thread loads, saves, or is still `launching` the next kernels.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from course.charts import intervals, traces
from course.core import CourseError
from course.diagnostics.profiling.timeline import (
    COMPUTING,
    KERNELS,
    NOTHING,
    TOO_SHORT,
    WAITS,
    DdpPass,
    RankReport,
    Slice,
    TrainingStep,
)
from course.diagnostics.why.thresholds import MIN_STEPS

GpuInterval = tuple[float, float, traces.Activity | None]


def see(report: RankReport, trace: Path) -> None:
    """Add the GPU's slices in the recorded steps to a rank's report, or why they are unknown."""
    if report.device != "cuda" or report.gpu_unknown_because:
        return
    try:
        activities = [
            replace(
                activity,
                start=activity.start + report.clock_offset,
                end=activity.end + report.clock_offset,
                launched=activity.launched + report.clock_offset,
            )
            for activity in traces.activities(trace)
        ]
    except CourseError as error:
        report.gpu_unknown_because = f"torch.profiler's record cannot be read: {error}"
        return
    if not activities:
        report.gpu_unknown_because = NOTHING
    elif len(report.recorded) <= MIN_STEPS:
        report.gpu_unknown_because = TOO_SHORT
    else:
        report.on_gpu = steps(activities, report.recorded)


def steps(activities: list[traces.Activity], host: list[TrainingStep]) -> list[TrainingStep]:
    """The GPU's own steps, one fewer than the steps of the main thread in `host`.

    A step of the GPU ends when it has done everything that the main thread launched in the same
    step. `activities` and `host` must use the same clock.
    """
    slices = [slice_ for step in host for slice_ in step.slices]
    ends = [_end_of_step(activities, step) for step in host]
    own = []
    for step, (start, end) in zip(host[1:], pairwise(ends), strict=True):
        inside = [
            activity for activity in activities if activity.start < end and start < activity.end
        ]
        own_slices = _merged(_slices(_gpu_intervals(inside, start, end), slices))
        passes = _passes(inside, own_slices, step.passes)
        own.append(replace(step, start=start, end=end, slices=own_slices, passes=passes))
    return own


def _end_of_step(activities: list[traces.Activity], step: TrainingStep) -> float:
    return max(
        (activity.end for activity in activities if activity.launched < step.end), default=step.end
    )


def _gpu_intervals(
    activities: list[traces.Activity], start: float, end: float
) -> Iterator[GpuInterval]:
    """Cut the time from `start` to `end` into intervals without a gap, each with its activity.

    If several activities run at the same time, computing goes before messages, and messages before
    copies. The activity is None while the GPU is idle.
    """
    edges = [(activity.start, True, activity) for activity in activities]
    edges += [(activity.end, False, activity) for activity in activities]
    running: tuple[list[traces.Activity], ...] = ([], [], [])
    moment = start
    for time, begins, activity in sorted(edges, key=lambda edge: edge[0]):
        time = min(max(time, start), end)
        if time > moment:
            yield moment, time, next((stack[-1] for stack in running if stack), None)
            moment = time
        stack = running[1 if activity.is_message else 2 if activity.is_copy else 0]
        if begins:
            stack.append(activity)
        else:
            stack.remove(activity)
    if end > moment:
        yield moment, end, None


def _slices(gpu_intervals: Iterable[GpuInterval], host: list[Slice]) -> Iterator[Slice]:
    starts = [slice_.start for slice_ in host]

    def slice_at(moment: float) -> int:
        return max(0, bisect_right(starts, moment) - 1)

    for start, end, activity in gpu_intervals:
        if activity:
            yield _busy_slice(activity, host[slice_at(activity.launched)], start, end)
            continue
        first, last = slice_at(start), slice_at(end)
        for number in range(first, last + 1):
            begin = start if number == first else starts[number]
            until = end if number == last else starts[number + 1]
            if until > begin:
                yield _idle_slice(host[number], begin, until)


def _busy_slice(activity: traces.Activity, host: Slice, start: float, end: float) -> Slice:
    """The GPU's slice for an activity that the main thread launched in the slice `host`."""
    slice_ = Slice(host.kind, start, end, where=host.where, passes_begun=host.passes_begun)
    if activity.is_copy:
        return replace(slice_, kind="copies")
    if not activity.is_message:
        return replace(slice_, kind=host.kind if host.kind in KERNELS else "gradients")
    if host.kind in WAITS:
        return replace(slice_, name=host.name, nbytes=host.nbytes, within=host.within)
    if "SendRecv" in activity.name:
        return replace(slice_, kind="collective", name="recv", within=host.kind)
    return replace(slice_, kind="tail", within=host.kind)  # as DDP sends, from C++


def _idle_slice(host: Slice, start: float, end: float) -> Slice:
    """The slice of an idle GPU, while the main thread is in the slice `host`."""
    kind = "launching" if host.kind in COMPUTING else host.kind
    return replace(host, kind=kind, start=start, end=end, queued=0.0, cpu=0.0, stalled=0.0)


def _merged(slices: Iterable[Slice]) -> list[Slice]:
    """Merge neighbouring slices that differ only in their times."""
    merged: list[Slice] = []
    for slice_ in slices:
        if merged and replace(merged[-1], start=slice_.start, end=slice_.end) == slice_:
            merged[-1].end = slice_.end
        else:
            merged.append(slice_)
    return merged


def _passes(
    activities: list[traces.Activity], slices: list[Slice], reported: list[DdpPass]
) -> list[DdpPass]:
    """How the backward passes and the messages of a step overlap, as one pass.

    The buckets are taken from the passes that DDP `reported`. The list is empty if there is no
    message or no backward pass.
    """
    sent = intervals.union(
        (activity.start, activity.end) for activity in activities if activity.is_message
    )
    backward = intervals.union(
        (slice_.start, slice_.end) for slice_ in slices if slice_.kind == "backward"
    )
    if not sent or not backward:
        return []
    return [
        DdpPass(
            reported[-1].module if reported else 0,
            backward[0][0],
            backward[-1][1],
            intervals.length(backward),
            intervals.length(sent),
            intervals.length(intervals.intersection(backward, sent)),
            reported[-1].buckets if reported else [],
            reported[-1].unused if reported else 0,
        )
    ]
