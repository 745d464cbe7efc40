"""Read the report of a rank, and add up its gradients, which it wrote pass by pass."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from course.own.numerics.training import (
    BackwardPass,
    DdpModel,
    InferenceModel,
    LoadedFile,
    LoaderPass,
    LossTerm,
    OptimizerReport,
    OptimizerStep,
    RandomWorker,
    TrainingReport,
    UnoptimizedParameter,
    WeightChange,
    WrittenFile,
)

LISTS = {
    "wrapped": DdpModel,
    "loader_passes": LoaderPass,
    "unoptimized": UnoptimizedParameter,
    "others": InferenceModel,
    "written": WrittenFile,
    "loads": LoadedFile,
    "changes": WeightChange,
    "workers": RandomWorker,
}


def read(path: Path) -> TrainingReport:
    """Read the report of a rank."""
    raw = json.loads(path.read_text())
    lists = {name: [kind(**entry) for entry in raw[name]] for name, kind in LISTS.items()}
    optimizers = [_optimizer(entry) for entry in raw["optimizers"]]
    return TrainingReport(**raw | lists | {"optimizers": optimizers})


def _optimizer(raw: dict[str, Any]) -> OptimizerReport:
    report = OptimizerReport(**raw | {"watched": [_step(entry) for entry in raw["watched"]]})
    for step in report.watched:
        if step.entries:
            flat = step.samples("entries")
            own, base, step.clean = _add_up(flat, step.entries, report.counts)
            step.keep("own", own)
            step.keep("base", base)
    return report


def _step(raw: dict[str, Any]) -> OptimizerStep:
    return OptimizerStep(**raw | {"latest": [_backward_pass(entry) for entry in raw["latest"]]})


def _backward_pass(raw: dict[str, Any]) -> BackwardPass:
    parts = raw["parts"]
    return BackwardPass(**raw | {"parts": parts and [LossTerm(**entry) for entry in parts]})


def _add_up(
    flat: np.ndarray, entries: Sequence[Sequence[int]], counts: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, list[bool]]:
    """A rank's own gradients of a step, what was there before, and which began at zero.

    For each entry, `flat` has samples of a gradient and of what was there before it. An entry has
    the place of its parameter, then the numbers of both.
    """
    starts = np.cumsum([0, *counts])
    own, base = np.zeros(starts[-1], np.float32), np.zeros(starts[-1], np.float32)
    clean = [True] * len(counts)
    seen: set[int] = set()
    at = 0
    for place, size, before in entries:
        new, old = flat[at : at + size], flat[at + size : at + size + before]
        at += size + before
        part = slice(starts[place], starts[place + 1])
        if size != counts[place]:
            continue
        if not old.any():  # it was zeroed, or never had one
            own[part], base[part], clean[place] = new, 0, True
        elif place not in seen:
            own[part], base[part], clean[place] = new, old, False
        else:
            own[part] += new
        seen.add(place)
    return own, base, clean
