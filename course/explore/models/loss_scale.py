"""What becomes of measured gradients in a narrow format when the loss is scaled."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from course.core import CourseError
from course.explore.models.number_formats import FORMATS

ADVICE = "log rows such as log(where='weights', exponent=-12, count=340) and give run.metrics"
# By exponent: how many gradients have a size from 2^exponent up to 2^(exponent+1). No zeros.
Histogram = dict[int, int]


@dataclass(frozen=True)
class Fate:
    """The shares (0 to 1) of gradients that become 0, lose digits, stay whole, become infinite."""

    zero: float
    subnormal: float
    whole: float
    infinite: float


def histograms(rows: Iterable[Mapping[str, object]]) -> dict[str, Histogram]:
    """By the name in `where`: the histogram of the rows that have an `exponent` and a `count`.

    Other rows are passed over; raises `CourseError` if none is left.
    """
    found: dict[str, Histogram] = {}
    for row in rows:
        exponent = row.get("exponent")
        if exponent is None or math.isnan(exponent):
            continue
        histogram = found.setdefault(str(row["where"]), {})
        histogram[int(exponent)] = histogram.get(int(exponent), 0) + int(row["count"])
    if not found:
        raise CourseError(f"There is no histogram of gradients in these metrics: {ADVICE}.")
    return found


def zone(name: str, exponent: int) -> str:
    """What format `name` makes of sizes from 2^exponent on: zero, subnormal, whole or infinite."""
    known = FORMATS[name]
    half = math.log2(known.smallest) - 1  # from half of the smallest number on, one rounds up to it
    if exponent < half:
        return "zero"
    if exponent < math.log2(known.smallest_normal):
        return "subnormal"
    return "whole" if exponent <= math.floor(math.log2(known.largest)) else "infinite"


def fate(name: str, histogram: Histogram, power: int) -> Fate:
    """The fate of the gradients of `histogram` in format `name` with a loss scale of 2^power."""
    counts = dict.fromkeys(("zero", "subnormal", "whole", "infinite"), 0)
    for exponent, count in histogram.items():
        counts[zone(name, exponent + power)] += count
    total = sum(histogram.values())
    return Fate(**{name: count / total for name, count in counts.items()})


def highest_power(name: str, histogram: Histogram) -> int:
    """The largest power of two with which to scale so that nothing becomes infinite."""
    return math.floor(math.log2(FORMATS[name].largest)) - max(histogram)
