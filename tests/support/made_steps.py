"""Made-up steps of ranks, as the recorder would report them; times are in ms."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from course.diagnostics import Cause, WhyAnswer
from course.diagnostics.profiling.timeline import (
    Ddp,
    DdpPass,
    Loader,
    RankReport,
    ScriptFeatures,
    Slice,
    TrainingStep,
)

MS = 1e-3
MIB = 1 << 20
COUNT = 10  # steps


def did(kind: str, ms: float, where: str = "", **more: object) -> Slice:
    """A slice that lasts this long; `step` sets when it begins."""
    return Slice(kind, 0.0, ms * MS, where=where, **more)


def message(name: str, ms: float, nbytes: int, where: str, within: str) -> Slice:
    """The wait for a message; `within` is the kind of work in which it was begun."""
    return did("collective", ms, where, name=name, nbytes=nbytes, within=within)


def average(ms: float, nbytes: int = 10 * MIB) -> Slice:
    """The wait for gradients that a script averages itself, after its backward pass."""
    return message("all_reduce", ms, nbytes, "train.py:10", within="gradients")


def computed(backward: float = 40, forward: float = 20) -> list[Slice]:
    """The forward and backward passes of a training loop written by hand."""
    return [did("forward", forward, "train.py:7"), did("backward", backward, "train.py:8")]


def step(
    slices: Iterable[Slice],
    start: float = 0.0,
    tail: float = 0.0,
    overlap: float = 0.0,
    buckets: Sequence[int] = (25_000_000,),
    rows: Sequence[int] = (),
) -> TrainingStep:
    """A step that begins at `start` (s); each backward pass ends with a `tail` in DDP, in ms."""
    moment, begun, placed, passes = start, 0, [], []
    for slice_ in slices:
        begun += slice_.kind == "backward"
        seconds = slice_.end
        if slice_.kind == "backward" and tail:
            ready = moment + seconds
            seconds += tail * MS
            communicating = (tail + overlap) * MS
            passes.append(
                DdpPass(1, moment, ready, slice_.end, communicating, overlap * MS, list(buckets))
            )
        ended = moment + seconds
        busy = slice_.end if slice_.kind == "backward" else 0.0
        placed.append(replace(slice_, start=moment, end=ended, passes_begun=begun, cpu=busy))
        moment = ended
    return TrainingStep(start, moment, placed, passes, list(rows), list(rows))


def rank(number: int, steps: Sequence[TrainingStep], world: int = 2, **more: object) -> RankReport:
    """A rank with these steps."""
    known = {
        "backend": "gloo",
        "device": "cpu",
        "clock": "optimizer",
        "threads": 1,
        "cores": world,
        "gradients": 10_000_000,
        "seen": COUNT + 6,
        "watched_s": 1.0,
    }
    return RankReport(number, world, world, **known | more, steps=list(steps))


def script(*ddp: Ddp, **more: object) -> dict[str, ScriptFeatures]:
    """The settings of a rank whose script has these DDP modules and other features."""
    return {"script": ScriptFeatures(ddp=list(ddp), **more)}


def loader(**facts: object) -> Loader:
    """A loader made with these settings; a plain one if none are given."""
    return Loader(**facts)


def ranks(
    *by_rank: Sequence[Slice], settings: dict | None = None, **of_step: object
) -> list[RankReport]:
    """Ranks that each repeat a step of their own; `settings` are such as ``{"threads": 4}``.

    `tail`, `overlap`, `buckets` and `rows` are one value for all ranks, or a list by rank.
    """
    reports = []
    for number, slices in enumerate(by_rank):
        mine = {
            name: value[number] if isinstance(value, list) else value
            for name, value in of_step.items()
        }
        steps = [step(slices, start=float(n), **mine) for n in range(COUNT)]
        reports.append(rank(number, steps, len(by_rank), **settings or {}))
    return reports


def same(*slices: Slice, count: int = 2, **more: object) -> list[RankReport]:
    """Ranks that all do the same."""
    return ranks(*[list(slices)] * count, **more)


def first(reports: list[RankReport]) -> Cause:
    """The cause to cure first."""
    return WhyAnswer(reports).causes[0]


STEP = did("optimizer", 2, "train.py:9")
