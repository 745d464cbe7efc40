"""Made-up reports of ranks: a small simulated training, in which a fault changes one thing.

The ranks' own gradients are random. The optimizer uses their mean, unless the fault changes that,
and the weights follow.
"""

import zlib
from collections.abc import Callable

import numpy as np

from course.diagnostics.finding import Finding
from course.diagnostics.numerics.training import (
    BackwardPass,
    DdpModel,
    Evaluation,
    InferenceModel,
    LoadedFile,
    LoaderPass,
    LossTerm,
    OptimizerReport,
    OptimizerStep,
    TrainingReport,
    WrittenFile,
)
from course.diagnostics.right import verdict
from course.diagnostics.right.table import Row

NAMES, COUNTS = ["body.weight", "head.weight"], [48, 32]
STEPS, BATCH = 12, 8
LINE = "train.py:30"
Fault = Callable[[int, int, dict], None]  # gets a rank, a step (from 1), and the step's values


def checksums(weights: np.ndarray) -> list[int]:
    """A checksum for each parameter."""
    parts = np.split(weights.astype(np.float32), np.cumsum(COUNTS)[:-1])
    return [zlib.crc32(part.tobytes()) for part in parts]


def ranks(count: int = 2, fault: Fault | None = None, passes: int = 1, ddp: bool = True,
          equal_start: bool = True) -> list[TrainingReport]:  # fmt: skip
    """The reports of `count` ranks, of a training in which `fault` changes something.

    `fault` is called for each rank and step. It may change any of the step's values: the ``own``
    gradients of all ranks, this rank's ``first``, ``used`` and ``base`` gradients and ``weights``,
    and the `OptimizerStep` under ``step``.
    """
    random = np.random.default_rng(0)
    made = [_rank(number, count, ddp) for number in range(count)]
    start = random.normal(size=sum(COUNTS))
    weights = [start.copy() if equal_start else random.normal(size=len(start)) for _ in made]
    for number in range(1, STEPS + 1):
        own = random.normal(size=(count, sum(COUNTS)))
        for rank_index, rank in enumerate(made):
            before = checksums(weights[rank_index])
            step = OptimizerStep(
                number * passes, number, LINE, [0.1], "momentum=0", before, [], True
            )
            step.passes = [
                _backward_pass(rank_index, number, index, passes) for index in range(passes)
            ]
            step.has_gradient = step.gradients.clean = [True, True]
            values = {"own": own, "first": own.mean(0), "used": own.mean(0), "step": step,
                       "base": np.zeros(sum(COUNTS)), "weights": weights[rank_index]}  # fmt: skip
            if fault:
                fault(rank_index, number, values)
            weights[rank_index] = values["weights"] - step.rates[0] * values["used"]
            step.after = checksums(weights[rank_index])
            step.norms = [float(np.linalg.norm(weights[rank_index]))] * 2
            step.gradients.keep("own", values["own"][rank_index])
            step.gradients.keep("base", values["base"])
            for name in ("first", "used"):
                step.gradients.keep(name, values[name] + values["base"])
            rank.optimizers[0].watched.append(step)
        rank.optimizers[0].steps = number
    for rank, first in zip(made, weights, strict=True):
        rank.optimizers[0].steps = STEPS
        for wrap in rank.wrapped:
            wrap.at_first_call = wrap.at_wrapping = wrap.at_wrapping or checksums(first * 0)
    return made


def _rank(number: int, count: int, ddp: bool) -> TrainingReport:
    shapes = [f"[{size}]" for size in COUNTS]
    optimizer = OptimizerReport("SGD", "train.py:20", NAMES, shapes, ["train.py:10"] * 2, COUNTS)
    rank = TrainingReport(
        number, count, count, "here", "gloo", optimizers=[optimizer], is_over=True
    )
    rank.passes_so_far = STEPS
    rank.wrapped = [DdpModel("train.py:19", NAMES, checksums(np.zeros(sum(COUNTS))))] if ddp else []
    return rank


def _backward_pass(rank: int, step: int, index: int, passes: int) -> BackwardPass:
    samples = [zlib.crc32(f"{rank} {step} {index} {sample}".encode()) for sample in range(BATCH)]
    part = LossTerm("NllLoss", BATCH, 1 / BATCH / passes)
    return BackwardPass(
        "train.py:29", "train.py:28", samples, "training", "float32", True, parts=[part], loss=1.0
    )


def loader_pass(rank: int, epoch: int = 0, **more: object) -> LoaderPass:
    """A pass over a loader with a DistributedSampler; no other rank has its samples."""
    samples = [
        [zlib.crc32(f"{rank} {epoch} {batch} {sample}".encode()) for sample in range(BATCH)]
        for batch in range(4)
    ]
    plain = {"kind": "DistributedSampler",
             "length": 1000, "epoch": epoch, "seed": 0, "rank": rank, "replicas": 2,
             "shuffles": True, "batches": 4, "samples": samples,
             "opened_at": "train.py:25"}  # fmt: skip
    return LoaderPass(1, 2, made_at="train.py:15", **plain | more)


def evaluation(rank: int, **more: object) -> LoaderPass:
    """An evaluation of 1,000 samples, of which each rank has a share and sends its results.

    `more` has other values for fields of the pass or of its evaluation.
    """
    plain = {"total": 1000, "shuffles": False, "batches": 0, "is_over": True, "calls": 4,
             "messages": 1, "sums": [1000.0], "reports": int(rank == 0)}  # fmt: skip
    plain |= more
    inside = {name: plain.pop(name) for name in vars(Evaluation()) if name in plain}
    return loader_pass(rank, evaluation=Evaluation(**inside), **plain)


def load(**more: object) -> LoadedFile:
    """A checkpoint with an optimizer's state, read before the first step."""
    return LoadedFile("/runs/last.pt", "train.py:14", **{"optimizer": True, "numbers": {}} | more)


def other(checksum: int, **more: object) -> InferenceModel:
    """A teacher that is called without gradients."""
    return InferenceModel("Linear", "train.py:27", "train.py:12", checksum, **more)


def written(path: str) -> WrittenFile:
    """A file that was overwritten."""
    return WrittenFile(path, "train.py:40")


def faults(ranks: list[TrainingReport]) -> list[Finding]:
    """The findings on these reports, without notes."""
    return [finding for finding in verdict.judge(ranks).findings if not finding.note]


def row(ranks: list[TrainingReport], name: str) -> Row:
    """The row of this name in the table."""
    return next(entry for entry in verdict.judge(ranks).rows if entry.name == name)


def named(ranks: list[TrainingReport]) -> list[tuple[str, int | None]]:
    """The name and the rank of each finding, without notes."""
    return [(finding.what, finding.rank) for finding in faults(ranks)]
