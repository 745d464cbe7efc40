"""The fate of measured gradients in a narrow format when the loss is scaled."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from course.core import CourseError
from course.explore.models.number_formats import FORMATS

ADVICE = "log rows such as log(where='weights', exponent=-12, count=340) and give run.metrics"
# By exponent, the number of gradients of sizes from 2^exponent to 2^(exponent+1), without zeros.
Histogram = dict[int, int]

# What src/gradients.py of lab 05 measured on a CPU: the lowest exponent, and the counts from there.
RECORDED = {
    "activations": (
        -41,
        (
            1,
            0,
            1,
            2,
            2,
            2,
            5,
            14,
            25,
            63,
            108,
            294,
            438,
            849,
            1542,
            2779,
            4715,
            8055,
            12905,
            19426,
            28633,
            40876,
            54324,
            65835,
            73975,
            76525,
            70134,
            52733,
            32692,
            16797,
            6464,
            1413,
            386,
            48,
            27,
            40,
        ),
    ),
    "weights": (
        -38,
        (
            2,
            4,
            12,
            27,
            35,
            45,
            67,
            52,
            10,
            1,
            2,
            1,
            8,
            15,
            19,
            52,
            138,
            239,
            441,
            944,
            1926,
            3741,
            7171,
            13976,
            25621,
            43980,
            65630,
            83481,
            81097,
            55608,
            24920,
            7865,
            2022,
            437,
            189,
            64,
        ),
    ),
}


@dataclass(frozen=True)
class Fate:
    """The shares (0 to 1) of gradients that become 0, lose digits, stay whole, become infinite."""

    zero: float
    subnormal: float
    whole: float
    infinite: float


def histograms(rows: Iterable[Mapping[str, object]]) -> dict[str, Histogram]:
    """A histogram for each name in `where`, from rows with an `exponent` and a `count`.

    Other rows are ignored; raises `CourseError` if none is left.
    """
    counts: dict[str, Histogram] = {}
    for row in rows:
        exponent = row.get("exponent")
        if exponent is None or math.isnan(exponent):
            continue
        histogram = counts.setdefault(str(row["where"]), {})
        histogram[int(exponent)] = histogram.get(int(exponent), 0) + int(row["count"])
    if not counts:
        raise CourseError(f"There is no histogram of gradients in these metrics: {ADVICE}.")
    return counts


def recorded() -> dict[str, Histogram]:
    """The histograms of a run of lab 05."""
    return {
        where: {lowest + above: count for above, count in enumerate(counts) if count}
        for where, (lowest, counts) in RECORDED.items()
    }


def zone(name: str, exponent: int) -> str:
    """The fate of sizes from 2^exponent on: zero, subnormal, whole or infinite."""
    known = FORMATS[name]
    half = math.log2(known.smallest) - 1  # sizes from half of the smallest number on round up to it
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
    """The largest power of two as loss scale at which no gradient becomes infinite."""
    return math.floor(math.log2(FORMATS[name].largest)) - max(histogram)
