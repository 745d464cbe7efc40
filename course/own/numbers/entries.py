"""Add up the gradients that a rank has written pass by pass, off its hot path."""

from collections.abc import Sequence

import numpy as np


def add_up(
    flat: np.ndarray, entries: Sequence[Sequence[int]], counts: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, list[bool]]:
    """A rank's own gradients of a step, what was there before, and which began at zero.

    For each entry, `flat` has samples of a gradient and of what was there before it: so many as the
    entry says, after the place of its parameter.
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
