"""Number formats against torch's own rounding, pictures that fit."""

import math
import random

import pytest
import torch

from course import explore
from course.core.errors import CourseError
from course.explore.models.number_formats import FORMATS, add
from course.explore.pictures.number_formats import readable

TORCHS = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8 e4m3": torch.float8_e4m3fn,
    "fp8 e5m2": torch.float8_e5m2,
}


INTEGERS = {32: torch.int32, 16: torch.int16, 8: torch.int8}


def samples(name: str) -> torch.Tensor:
    """Numbers of every size that the format holds, some beyond its range, and ties."""
    known, generator = FORMATS[name], random.Random(0)
    low, high = math.log2(known.smallest) - 3, math.log2(known.largest)
    sizes = [
        math.ldexp(1 + generator.random(), round(generator.uniform(low, high - 1)))
        for _ in range(1500)
    ]
    ties = [known.round(size) + known.spacing(known.round(size)) / 2 for size in sizes[:500]]
    numbers = [0.0, *sizes, *ties, *known_ends(name)]
    return torch.tensor(
        [sign * number for number in numbers for sign in (1, -1)], dtype=torch.float32
    )


def known_ends(name: str) -> list[float]:
    """The numbers at which a format begins and ends."""
    known = FORMATS[name]
    return [
        known.largest,
        known.smallest,
        known.smallest / 2,
        known.smallest_normal,
        1.5 * known.smallest,
    ]


@pytest.mark.parametrize("name", TORCHS)
def test_numbers_are_rounded_and_stored_as_torch_does(name):
    known, numbers = FORMATS[name], samples(name)
    lost = numbers.to(TORCHS[name]).isnan()  # torch 2.11 makes NaN of what later ones hold as 448
    if lost.any():
        assert name == "fp8 e4m3" and torch.__version__ < (2, 13)
        assert (numbers[lost].abs() > known.largest + known.spacing(known.largest) / 2).all()
        numbers = numbers[~lost]
    stored = numbers.to(TORCHS[name])
    expected = stored.float().tolist()
    assert [known.round(number) for number in numbers.tolist()] == expected
    bits = stored.view(INTEGERS[known.bits]).tolist()
    assert ["".join(known.fields(number)) for number in numbers.tolist()] == [
        f"{pattern % 2**known.bits:0{known.bits}b}" for pattern in bits
    ]


@pytest.mark.parametrize("name", TORCHS)
def test_the_ends_of_a_format_are_those_of_torch(name):
    known, theirs = FORMATS[name], torch.finfo(TORCHS[name])
    assert (known.largest, known.smallest_normal, known.spacing(1.0)) == (
        theirs.max,
        theirs.tiny,
        theirs.eps,
    )
    assert known.smallest == theirs.smallest_normal * theirs.eps


def test_tf32_has_the_range_of_fp32_and_the_digits_of_fp16():
    tf32 = FORMATS["tf32"]
    assert (tf32.smallest_normal, tf32.spacing(1.0)) == (
        FORMATS["fp32"].smallest_normal,
        FORMATS["fp16"].spacing(1.0),
    )
    assert tf32.round(1 + 2**-11) == 1 and tf32.round(1 + 2**-10) > 1


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_too_large_becomes_inf_or_where_there_is_none_the_largest(name):
    known = FORMATS[name]
    end = math.inf if known.infinity else known.largest
    for number in (known.largest * 1.2, math.inf):
        assert (known.round(number), known.round(-number)) == (end, -end)
    assert math.isnan(known.round(math.nan))


def test_a_small_change_is_lost_in_sixteen_bits_and_arrives_in_thirty_two():
    assert add("fp16", 1, 1e-4).arrived_share == 0 and add("bf16", 1, 1e-3).arrived_share == 0
    assert add("fp32", 1, 1e-4).arrived_share == pytest.approx(1, rel=1e-3)
    assert math.isnan(add("fp16", 65504, 1000).arrived_share)
    with pytest.raises(CourseError, match="use fp32, tf32"):
        add("fp4", 1, 1)


def test_the_title_of_the_formats_says_what_happens():
    for values, message in (
        ({}, "fp16: 1 + 0.0001 = 1. The change is lost"),
        ({"format": "fp32"}, "all of the change arrives"),
        ({"weight": 1e6}, "kept as inf, above its range"),
        ({"format": "fp8 e4m3", "weight": 1e6}, "kept as 448, above its range"),
        ({"weight": 1e-8}, "kept as 0, below its range"),
        ({"format": "fp8 e5m2", "change": 1e-9}, "0 before it is added"),
    ):
        assert message in explore.number_formats(**values).picture


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1e-4, "0.0001"),
        (65504, "65,504"),
        (2.0**-24, "5.96·10⁻⁸"),
        (1e6, "10⁶"),
        (math.inf, "inf"),
    ],
)
def test_numbers_of_any_size_are_readable(number, text):
    assert readable(number) == text
