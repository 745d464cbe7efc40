"""Floating-point formats: their bits, their range, the gaps between their numbers, rounding."""

import math
from dataclasses import dataclass

from course.core import CourseError


@dataclass(frozen=True)
class Format:
    """A number format: a sign, `exponent` bits for the range, `fraction` bits for the precision.

    It takes `bits` in memory and follows IEEE 754, with subnormal numbers. The largest exponent is
    reserved for infinity and nan. Without `infinity` (fp8 e4m3: Micikevicius et al. 2022, "FP8
    Formats for Deep Learning"), only the largest fraction of that exponent is reserved, for nan,
    and a number that is too large becomes the largest one, as in torch 2.13.
    """

    name: str
    exponent: int
    fraction: int
    bits: int
    infinity: bool = True

    @property
    def bias(self) -> int:
        """The number added to an exponent before it is stored."""
        return 2 ** (self.exponent - 1) - 1

    @property
    def largest(self) -> float:
        """The largest finite number."""
        if self.infinity:
            return math.ldexp(2 - 2.0**-self.fraction, self.bias)
        return math.ldexp(2 - 2 * 2.0**-self.fraction, self.bias + 1)

    @property
    def smallest_normal(self) -> float:
        """The smallest number with all of its precision."""
        return math.ldexp(1, 1 - self.bias)

    @property
    def smallest(self) -> float:
        """The smallest number above 0."""
        return math.ldexp(1, 1 - self.bias - self.fraction)

    @property
    def digits(self) -> float:
        """The number of decimal digits that a number holds."""
        return (self.fraction + 1) * math.log10(2)

    def spacing(self, value: float) -> float:
        """The distance from `value` (finite) to the next number away from 0."""
        exponent = math.frexp(value)[1] - 1 if value else 1 - self.bias
        return math.ldexp(1, max(exponent, 1 - self.bias) - self.fraction)

    def round(self, value: float) -> float:
        """The number of the format nearest to `value`; ties go to the even one.

        Values beyond the largest number become infinity, or that number if there is no infinity.
        """
        if math.isnan(value):
            return value
        if math.isfinite(value):
            step = self.spacing(value)
            nearest = round(value / step) * step
            if abs(nearest) <= self.largest:
                return math.copysign(nearest, value)
        return math.copysign(math.inf if self.infinity else self.largest, value)

    def fields(self, value: float) -> tuple[str, str, str]:
        """Sign, exponent and fraction of the rounded `value`, as strings of 0 and 1."""
        value = self.round(value)
        sign = "1" if math.copysign(1, value) < 0 else "0"
        if not math.isfinite(value):
            fraction = 0 if math.isinf(value) else 2**self.fraction - 1
            return sign, "1" * self.exponent, f"{fraction:0{self.fraction}b}"
        step = self.spacing(value)
        stored, exponent = round(abs(value) / step), 0
        if stored >= 2**self.fraction:  # a normal number: its first digit, a 1, is not stored
            stored -= 2**self.fraction
            exponent = round(math.log2(step)) + self.fraction + self.bias
        return sign, f"{exponent:0{self.exponent}b}", f"{stored:0{self.fraction}b}"

    def value(self, bits: str) -> float:
        """The value of a sign, an exponent and a fraction in one string of 0 and 1."""
        sign, exponent = bits[0], int(bits[1 : 1 + self.exponent], 2)
        fraction = int(bits[1 + self.exponent :], 2)
        if exponent == 0:
            size = math.ldexp(fraction, 1 - self.bias - self.fraction)
        else:
            whole = 2**self.fraction + fraction
            size = math.ldexp(whole, exponent - self.bias - self.fraction)
        if size > self.largest:
            size = math.inf if self.infinity and fraction == 0 else math.nan
        return -size if sign == "1" else size


FORMATS = {
    known.name: known
    for known in (
        Format("fp32", 8, 23, 32),
        Format("tf32", 8, 10, 32),  # how tensor cores read fp32; in memory it stays 32 bits wide
        Format("fp16", 5, 10, 16),
        Format("bf16", 8, 7, 16),
        Format("fp8 e4m3", 4, 3, 8, infinity=False),
        Format("fp8 e5m2", 5, 2, 8),
    )
}


@dataclass(frozen=True)
class Update:
    """`weight` + `change` in one format: what the format keeps of each, and of the sum."""

    weight: float
    change: float
    exact: float  # the sum before it is rounded
    stored: float

    @property
    def arrived_share(self) -> float:
        """The share of the change that the weight takes: 0 if lost, nan if there is no sum."""
        if not math.isfinite(self.stored):
            return math.nan
        return (self.stored - self.weight) / (self.exact - self.weight) if self.change else 0.0


def add(name: str, weight: float, change: float) -> Update:
    """Round a weight and its change to the format called `name`, add them, round the sum.

    Raises `CourseError` for a format that is not known.
    """
    if name not in FORMATS:
        raise CourseError(f"There is no format {name!r}: use {', '.join(FORMATS)}.")
    known = FORMATS[name]
    weight, change = known.round(weight), known.round(change)
    return Update(weight, change, weight + change, known.round(weight + change))
