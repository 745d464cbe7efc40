"""Read the report of a rank, and add up its gradients, which it wrote pass by pass."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from course.own.numbers.record import (
    Change,
    Iteration,
    Load,
    Loose,
    Optimizer,
    Other,
    Part,
    Pass,
    Rank,
    Step,
    Worker,
    Wrapped,
    Written,
)


def read(path: Path) -> Rank:
    """Read what `timeline.write` wrote."""
    raw = json.loads(path.read_text())
    lists = {
        "wrapped": Wrapped, "iterations": Iteration, "loose": Loose, "others": Other,
        "written": Written, "loads": Load, "changes": Change, "workers": Worker,
    }  # fmt: skip
    found = {name: [kind(**each) for each in raw[name]] for name, kind in lists.items()}
    optimizers = [_optimizer(each) for each in raw["optimizers"]]
    return Rank(**raw | found | {"optimizers": optimizers})


def _optimizer(raw: dict) -> Optimizer:
    found = Optimizer(**raw | {"watched": [_step(each) for each in raw["watched"]]})
    for step in found.watched:
        if step.entries:
            flat = step.samples("entries")
            own, base, step.clean = _add_up(flat, step.entries, found.counts)
            step.keep("own", own)
            step.keep("base", base)
    return found


def _step(raw: dict) -> Step:
    return Step(**raw | {"latest": [_pass(each) for each in raw["latest"]]})


def _pass(raw: dict) -> Pass:
    parts = raw["parts"]
    return Pass(**raw | {"parts": parts and [Part(**each) for each in parts]})


def _add_up(
    flat: np.ndarray, entries: Sequence[Sequence[int]], counts: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, list[bool]]:
    """Return a rank's own gradients of a step, what was there before, and which began at zero.

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
