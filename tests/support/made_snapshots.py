"""Made-up ranks of a run: where each one is, what it has called, and how it ended."""

import sysconfig

from course.diagnostics.watch.calls import CallRecord, CollectiveCall
from course.diagnostics.watch.rank_states import RankState
from course.diagnostics.watch.snapshots import Snapshot, ThreadStack

SITE = sysconfig.get_path("purelib")
C10D = f"{SITE}/torch/distributed/distributed_c10d.py"
SCRIPT = "/home/someone/train.py"


def waits(call: str, line: int) -> list[tuple[str, int, str]]:
    """The frames of a thread that waits in a collective, called at a line of the script."""
    wrapper = (f"{SITE}/torch/distributed/c10d_logger.py", 83, "wrapper")
    return [(C10D, 100, call), wrapper, (SCRIPT, line, "train"), (SCRIPT, 90, "<module>")]


def backward(line: int) -> list[tuple[str, int, str]]:
    """The frames of a thread in a backward pass."""
    engine = (f"{SITE}/torch/autograd/graph.py", 841, "_engine_run_backward")
    return [engine, (SCRIPT, line, "train")]


def forward(line: int) -> list[tuple[str, int, str]]:
    """The frames of a thread in DDP's forward, which sends the buffers first."""
    sync = (f"{SITE}/torch/nn/parallel/distributed.py", 2100, "_sync_buffers")
    return [sync, (SCRIPT, line, "validate")]


def computes(line: int) -> list[tuple[str, int, str]]:
    """The frames of a thread in the script's own code."""
    return [(SCRIPT, line, "train")]


def rank(
    number: int,
    frames: list[tuple[str, int, str]],
    world: int = 2,
    calls: list[tuple[str, int, int]] = (),
    passes: int = 0,
    **overrides: object,
) -> RankState:
    """A rank whose main thread has these frames, and has not moved for a minute.

    `calls` are its collectives in order: (name, line, number of backward passes begun before).
    """
    alive = not overrides.pop("dead", False)
    stacks = overrides.pop("stacks", "")
    threads = overrides.pop("threads", [ThreadStack("MainThread", frames)])
    fields = {"count": 100, "unmoved": 60.0, "idle": 60.0, "threads": threads} | overrides
    collectives = [
        CollectiveCall(n, n, before, name, 4, "float32[1]", "0", "", f"train.py:{line}")
        for n, (name, line, before) in enumerate(calls, 1)
    ]
    record = CallRecord(collectives, len(collectives), passes)
    state = RankState(Snapshot(number, world, "here", 1000 + number, 0.0, **fields), record=record)
    state.alive, state.stacks = alive, stacks
    return state
