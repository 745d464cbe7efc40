"""Read a rank's report, and sum the gradients that it wrote pass by pass."""

import json
from pathlib import Path

import numpy as np

from course.core import from_plain
from course.diagnostics.numerics.training import StepGradients, TrainingReport


def read(path: Path) -> TrainingReport:
    """Read the JSON file of a rank's report, and sum the gradients in it."""
    report = from_plain(TrainingReport, json.loads(path.read_text()))
    for optimizer in report.optimizers:
        for step in optimizer.watched:
            if step.gradients.entries:
                _add_up(step.gradients, optimizer.counts)
    return report


def _add_up(gradients: StepGradients, counts: list[int]) -> None:
    """Compute `own`, `base` and `clean` of a step's gradients from their `entries`."""
    starts = np.cumsum([0, *counts])
    own, base = np.zeros(starts[-1], np.float32), np.zeros(starts[-1], np.float32)
    clean = [True] * len(counts)
    flat = gradients.samples("entries")
    seen: set[int] = set()
    at = 0
    for param_index, size, before in gradients.entries:
        new, old = flat[at : at + size], flat[at + size : at + size + before]
        at += size + before
        part = slice(starts[param_index], starts[param_index + 1])
        if size != counts[param_index]:
            continue
        if not old.any():  # the gradient was zeroed, or was None
            own[part], base[part], clean[param_index] = new, 0, True
        elif param_index not in seen:
            own[part], base[part], clean[param_index] = new, old, False
        else:
            own[part] += new
        seen.add(param_index)
    gradients.keep("own", own)
    gradients.keep("base", base)
    gradients.clean = clean
