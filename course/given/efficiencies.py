"""Weak and strong scaling of what lab 08's `src/throughput.py` measured."""

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

Rates = dict[tuple[int, int], float]  # samples per second by (ranks, batch of each rank)


def weak(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the efficiency of each measurement on several ranks, one row each."""
    for model, alone, ddp in _rates(table):
        for way, rates in (("alone", alone), ("DDP", ddp)):
            for (ranks, batch), rate in rates.items():
                if ranks > 1:
                    share = rate / ranks / alone[1, batch]
                    place = {"model": model, "way": way, "ranks": ranks, "batch": batch}
                    yield {"scaling": "weak", **place, "efficiency": share}


def strong(table: pd.DataFrame, speedups: Callable, serial: Callable) -> Iterator[dict[str, Any]]:
    """Yield the speed-up of ranks that share a global batch, and its serial share, one row each.

    `speedups` and `serial` are the learner's `speedups` and `karp_flatt`.
    """
    for model, alone, ddp in _rates(table):
        single = {key: rate for key, rate in alone.items() if key[0] == 1}
        for _, together in single:
            for ranks, speedup in speedups(single | ddp, together).items():
                if ranks > 1:
                    f = serial(speedup, ranks) if speedup > 1 else float("nan")  # slower than one
                    place = {"model": model, "together": together, "ranks": ranks}
                    yield {"scaling": "strong", **place, "speedup": speedup, "f": f}


def _rates(table: pd.DataFrame) -> Iterator[tuple[str, Rates, Rates]]:
    """Yield each model with its rates alone and with DDP."""
    for model, rows in table.groupby("model", sort=False):
        by_way = {
            way: {(row.ranks, int(row.batch)): row.rate for row in of_way.itertuples()}
            for way, of_way in rows.groupby("way")
        }
        yield model, by_way["alone"], by_way.get("DDP", {})
