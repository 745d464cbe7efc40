"""A pipeline's schedule: when each stage works on which micro-batch, and what it keeps meanwhile.

One unit of time is the forward pass of one micro-batch through one stage. Sending costs nothing.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from course.core import CourseError

GPIPE, ONE_F_ONE_B, INTERLEAVED = "GPipe", "1F1B", "interleaved 1F1B"
ZERO_BUBBLE = "zero bubble"
POLICIES = (GPIPE, ONE_F_ONE_B, INTERLEAVED, ZERO_BUBBLE)
CHUNKS = 2  # stages of the model that each rank has when they are interleaved
ADVICE = "give the metrics of a run of src/pipeline_times.py"


@dataclass(frozen=True)
class PipelinePass:
    """One stretch of computing on a rank.

    Its `kind` is F (forward), B (backward) or W (the gradients of the weights). Only a policy that
    puts W off has W passes, and then B computes only the gradient of the input.
    """

    kind: str
    microbatch: int
    chunk: int  # which of the rank's parts of the model
    start: float
    end: float


Order = list[tuple[str, int, int]]  # (kind, micro-batch, chunk), as a rank does them
Schedule = list[list[PipelinePass]]  # by rank


def order(policy: str, ranks: int, microbatches: int) -> list[Order]:
    """The order of each rank's passes, without the W passes, which fill gaps.

    Raises `CourseError` for numbers below 1, or if the policy cannot divide the micro-batches.
    """
    if min(ranks, microbatches) < 1:
        raise CourseError("A pipeline has at least one stage, and the batch one micro-batch.")
    if policy == GPIPE:
        forward = [("F", i, 0) for i in range(microbatches)]
        backward = [("B", i, 0) for i in reversed(range(microbatches))]
        return [forward + backward] * ranks
    chunks = CHUNKS if policy == INTERLEAVED else 1
    if chunks > 1 and microbatches % ranks:
        raise CourseError(
            f"Interleaving {ranks} ranks takes a multiple of {ranks} micro-batches, "
            f"not {microbatches}."
        )
    # Narayanan et al. 2021: `ranks` micro-batches go through one chunk, then through the next.
    groups = [range(g, min(g + ranks, microbatches)) for g in range(0, microbatches, ranks)]
    turns = [(i, chunk) for group in groups for chunk in range(chunks) for i in group]
    forward = [("F", i, chunk) for i, chunk in turns]
    backward = [("B", i, chunks - 1 - chunk) for i, chunk in turns]
    orders = []
    for rank in range(ranks):
        ahead = ranks - rank if chunks == 1 else 2 * (ranks - rank) - 1 + (chunks - 1) * ranks
        ahead = min(ahead, len(forward))
        later = itertools.zip_longest(backward, forward[ahead:])
        orders.append(forward[:ahead] + [step for pair in later for step in pair if step])
    return orders


def schedule(policy: str, ranks: int, microbatches: int, backward: float) -> Schedule:
    """Time the passes of each rank if every pass begins as early as it can.

    `backward` is the cost of a backward pass, relative to that of a forward pass.
    """
    orders = order(policy, ranks, microbatches)
    chunks = CHUNKS if policy == INTERLEAVED else 1
    split = policy == ZERO_BUBBLE
    cost = {"F": 1 / chunks, "B": backward / chunks / (2 if split else 1), "W": backward / 2}
    done: dict[tuple[str, int, int], float] = {}  # by kind, micro-batch and stage of the model
    free, waiting = [0.0] * ranks, [list(steps) for steps in orders]
    put_off: list[list[int]] = [[] for _ in range(ranks)]  # micro-batches whose W is still to do
    plan: Schedule = [[] for _ in range(ranks)]

    def do(rank: int, kind: str, i: int, chunk: int, start: float) -> None:
        free[rank] = start + cost[kind]
        plan[rank].append(PipelinePass(kind, i, chunk, start, free[rank]))
        done[kind, i, chunk * ranks + rank] = free[rank]

    last = ranks * chunks - 1
    while any(waiting):
        for rank in (rank for rank in range(ranks) if waiting[rank]):
            kind, i, chunk = waiting[rank][0]
            needs = _needs(kind, i, chunk * ranks + rank, last)
            if needs is not None and needs not in done:
                continue
            ready = done.get(needs, 0.0)
            # W fills a gap, or makes room: no rank keeps more micro-batches than 1F1B's first rank.
            while put_off[rank] and (
                free[rank] + cost["W"] <= ready + 1e-9
                or (kind == "F" and _alive(plan[rank], "W") >= ranks)
            ):
                do(rank, "W", put_off[rank].pop(0), 0, free[rank])
            do(rank, kind, i, chunk, max(free[rank], ready))
            waiting[rank].pop(0)
            if split and kind == "B":
                put_off[rank].append(i)
    for rank in range(ranks):
        for i in put_off[rank]:
            do(rank, "W", i, 0, free[rank])
    return plan


def _needs(kind: str, i: int, stage: int, last: int) -> tuple[str, int, int] | None:
    """The pass that must end before this pass of a stage can begin; None if there is none."""
    if kind == "F":
        return ("F", i, stage - 1) if stage > 0 else None
    return ("B", i, stage + 1) if stage < last else ("F", i, last)


def length(plan: Schedule) -> float:
    """The time at which the last rank has finished."""
    return max(step.end for steps in plan for step in steps)


def bubble(plan: Schedule) -> float:
    """The share of all ranks' time in which they compute nothing, 0 to 1."""
    begin = min(step.start for steps in plan for step in steps)
    busy = sum(step.end - step.start for steps in plan for step in steps)
    return max(0.0, 1 - busy / ((length(plan) - begin) * len(plan)))


def kept(steps: list[PipelinePass]) -> int:
    """The largest number of passes whose activations a rank keeps at once."""
    until = "W" if any(step.kind == "W" for step in steps) else "B"
    return max(_alive(steps[:count], until) for count in range(1, len(steps) + 1))


def _alive(steps: list[PipelinePass], until: str) -> int:
    """The number of forward passes not yet followed by a pass of the kind `until`."""
    return sum((step.kind == "F") - (step.kind == until) for step in steps)


def measured(rows: Iterable[Mapping[str, object]]) -> Schedule:
    """The timeline of a run, in ms, by stage, from rows with `start_ms` and `end_ms`.

    Other rows are ignored; raises `CourseError` if none is left.
    """
    passes: dict[int, list[PipelinePass]] = {}
    for row in rows:
        start = row.get("start_ms")
        if start is None or math.isnan(start):
            continue
        step = PipelinePass(str(row["kind"]), int(row["microbatch"]), 0, start, row["end_ms"])
        passes.setdefault(int(row["stage"]), []).append(step)
    if not passes:
        raise CourseError(f"There is no timeline of a pipeline in these metrics: {ADVICE}.")
    return [sorted(passes[stage], key=lambda step: step.start) for stage in sorted(passes)]
