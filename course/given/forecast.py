"""A prediction of DDP, fitted to part of what lab 08's `src/throughput.py` measured."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd


def larger_batches(
    table: pd.DataFrame, link_of: Callable, ring: Callable, step_seconds: Callable
) -> Iterator[dict[str, Any]]:
    """Yield DDP with all but the smallest batch, predicted and measured, one row each.

    The three functions are the learner's `Link`, `ring` and `step_seconds`.
    """
    most = int(table["ranks"].max())
    rates = table[(table["ranks"] == most) & table["rate"].notna()]
    messages = table[(table["ranks"] == most) & table["message"].notna()]
    # An all-reduce of n bytes is 2(N-1) messages of n/N bytes: a line through (bytes, seconds).
    per_byte, fixed = np.polyfit(messages["message"], messages["seconds"], 1)
    link = link_of(max(fixed, 0) / (2 * (most - 1)), per_byte * most / (2 * (most - 1)))
    for model, rows in rates.groupby("model", sort=False):
        # Ranks slow each other down even without messages: time as many ranks, each alone.
        alone = rows[rows["way"] == "alone"]
        per_sample, fixed = np.polyfit(alone["batch"], most * alone["batch"] / alone["rate"], 1)
        first, *others = rows[rows["way"] == "DDP"].sort_values("batch").itertuples()
        comm = ring(first.bytes, most, link)
        extra = most * first.batch / first.rate - fixed - per_sample * first.batch  # what DDP adds
        hidden = min(max(1 - extra / comm, 0), 1)
        beside = max(extra - comm, 0)  # hooks, copies, waking threads, late ranks
        for row in others:
            step = step_seconds(fixed + per_sample * row.batch, comm, hidden) + beside
            guess = most * row.batch / step
            fitted = {"comm_ms": comm * 1e3, "hidden": hidden, "beside_ms": beside * 1e3}
            outcome = {"measured": row.rate, "predicted": guess, "error": guess / row.rate - 1}
            yield {"model": model, "batch": row.batch, **fitted, **outcome}
