"""The published figures and their sources, read from the TOML files beside this one.

A file lists its sources: who measured, the address of the page, the dates of the page and of our
reading, and its licence. Each source has lines: what was measured on which machine, and a row per
figure, copied unchanged. Everything in a file was read at the address of its source.
"""

import tomllib
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path

from course.core import CourseError

UNITS = {  # each with the factor to seconds if it is a unit of time
    "GB/s": None,
    "ms": 1e-3,
    "sequences/s": None,
    "images/s": None,
    "tokens/s per GPU": None,
    "TFLOP/s": None,
}


@dataclass(frozen=True)
class Curve:
    """Figures of one machine in `unit`, by `along`: bytes, GPUs, or the n of n by n matrices.

    `ranks` is the number of ranks, if it is the same for all figures of the line.
    """

    name: str  # the label at the line's end in a picture
    machine: str
    link: str
    measured: str
    along: str
    unit: str
    figures: tuple[tuple[float, float], ...]
    by: str
    address: str
    published: date
    read: date
    licence: str
    ranks: int | None = None


@cache
def _every_line() -> tuple[Curve, ...]:
    """Every line of every file."""
    curves = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        for source in tomllib.loads(path.read_text())["source"]:
            rows = source.pop("line")
            curves += [Curve(**source, **row | {"figures": _pairs(row["figures"])}) for row in rows]
    return tuple(curves)


def _pairs(figures: list[list[float]]) -> tuple[tuple[float, float], ...]:
    return tuple((first, value) for first, value in figures)


def lines(measured: str = "") -> tuple[Curve, ...]:
    """The published lines whose figures are called `measured`; all lines if that is empty.

    Raises `CourseError`, with the known names, if no line has this name.
    """
    chosen = tuple(line for line in _every_line() if measured in ("", line.measured))
    if not chosen:
        names = ", ".join(sorted({line.measured for line in _every_line()}))
        raise CourseError(f"Nothing published here is called {measured!r}: choose from {names}.")
    return chosen


def all_reduces() -> tuple[Curve, ...]:
    """The all-reduces as bus bandwidth in GB/s; times are converted as in nccl-tests.

    With N ranks, the bus bandwidth is 2(N−1)/N of the buffer divided by the time.
    """
    return tuple(_bandwidth(line) for line in lines("all-reduce"))


def _bandwidth(line: Curve) -> Curve:
    if (second := UNITS[line.unit]) is None:
        return line
    share = 2 * (line.ranks - 1) / line.ranks
    figures = ((size, share * size / (time * second) / 1e9) for size, time in line.figures)
    return replace(line, unit="GB/s", figures=tuple(figures))


def speedups(measured: str) -> tuple[Curve, ...]:
    """The runs called `measured` as speed-ups over one GPU, without runs that lack that figure."""
    with_one_gpu = (line for line in lines(measured) if line.figures[0][0] == 1)
    return tuple(_speedup(line) for line in with_one_gpu)


def _speedup(line: Curve) -> Curve:
    on_one_gpu = line.figures[0][1]
    return replace(
        line, unit="× one rank", figures=tuple((n, rate / on_one_gpu) for n, rate in line.figures)
    )


def computed(measured: str, parameters: float) -> tuple[Curve, ...]:
    """The TFLOP/s that each GPU computed in the runs called `measured`.

    A model with that many `parameters` takes 6 operations per parameter and token.
    """
    per_token = 6 * parameters / 1e12
    return tuple(_computed(line, per_token) for line in lines(measured))


def _computed(line: Curve, per_token: float) -> Curve:
    figures = tuple((n, per_token * rate) for n, rate in line.figures)
    return replace(line, unit="TFLOP/s", figures=figures)
