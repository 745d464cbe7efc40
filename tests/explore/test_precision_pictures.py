"""The explorables of lab 05: number formats against torch's own rounding, gradients under a loss scale, curves."""

import itertools
import math
import random

import pandas as pd
import pytest
import torch
from support.pictures import assert_fits

from course import explore
from course.core.errors import CourseError
from course.explore.models.loss_scale import fate, highest_power, histograms, zone
from course.explore.models.number_formats import FORMATS, add
from course.explore.pictures.loss_scale import NARROW
from course.explore.pictures.loss_scale import draw as draw_gradients
from course.explore.pictures.number_formats import draw, readable

TORCHS = {
    "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp8 e4m3": torch.float8_e4m3fn,
    "fp8 e5m2": torch.float8_e5m2,
}  # fmt: skip
INTEGERS = {32: torch.int32, 16: torch.int16, 8: torch.int8}


def samples(name: str) -> torch.Tensor:
    """Numbers of every size that the format holds, and a little beyond, with ties between neighbours."""
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
    """Where a format begins and ends."""
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
    stored = numbers.to(TORCHS[name])
    wanted = stored.float().tolist()
    assert [known.round(number) for number in numbers.tolist()] == wanted
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
    assert add("fp16", 1, 1e-4).arrived == 0 and add("bf16", 1, 1e-3).arrived == 0
    assert add("fp32", 1, 1e-4).arrived == pytest.approx(1, rel=1e-3)
    assert math.isnan(add("fp16", 65504, 1000).arrived)
    with pytest.raises(CourseError, match="use fp32, tf32"):
        add("fp4", 1, 1)


STATES = list(
    itertools.product(FORMATS, (1e-8, 3e-5, 0.7, 1, 250, 6.3e4, 1e6), (1e-9, 1e-4, 0.5, 1000))
)


@pytest.mark.parametrize("state", STATES[::3], ids=str)
def test_every_state_of_the_formats_fits_its_card(state):
    picture = draw(*state)
    assert_fits(picture)
    assert "nan" not in picture


def test_the_title_of_the_formats_says_what_happens():
    for values, says in (
        ({}, "fp16: 1 + 0.0001 = 1. The change is lost"),
        ({"format": "fp32"}, "all of the change arrives"),
        ({"weight": 1e6}, "kept as inf, above its range"),
        ({"format": "fp8 e4m3", "weight": 1e6}, "kept as 448, above its range"),
        ({"weight": 1e-8}, "kept as 0, below its range"),
        ({"format": "fp8 e5m2", "change": 1e-9}, "0 before it is added"),
    ):
        assert says in explore.formats(**values).picture


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


def gradients(middle: int = -18) -> dict[int, int]:
    """A bell of gradients around 2^middle."""
    return {middle + i: round(1000 * math.exp(-(i**2) / 8)) for i in range(-7, 8)}


def test_the_fate_of_gradients_is_that_of_the_numbers():
    for name, power in itertools.product(NARROW, (0, 8, 30)):
        known, histogram = FORMATS[name], gradients()
        shares = fate(name, histogram, power)
        kept = {e: known.round(1.5 * 2.0 ** (e + power)) for e in histogram}
        assert shares.zero == sum(histogram[e] for e in kept if kept[e] == 0) / sum(
            histogram.values()
        )
        assert sum(vars(shares).values()) == pytest.approx(1)
    assert [zone("fp16", e) for e in (-26, -25, -15, -14, 15, 16)] == [
        "zero", "subnormal", "subnormal", "whole", "whole", "infinite",
    ]  # fmt: skip


def test_the_highest_scale_is_the_last_without_overflow():
    for name in NARROW:
        best = highest_power(name, gradients())
        assert (
            fate(name, gradients(), best).infinite == 0 < fate(name, gradients(), best + 1).infinite
        )


@pytest.mark.parametrize(
    ("name", "power", "middle"), list(itertools.product(NARROW, (0, 14, 32), (-45, -18, 3)))
)
def test_every_state_of_the_loss_scale_fits_its_card(name, power, middle):
    assert_fits(draw_gradients(gradients(middle), "activations", name, power))


def test_a_run_with_a_histogram_becomes_an_explorable():
    rows = [{"where": "weights", "exponent": e, "count": n} for e, n in gradients().items()]
    metrics = pd.DataFrame([{"step": 1, "loss": 0.5}, *rows])
    assert histograms(metrics.to_dict("records")) == {"weights": gradients()}
    assert "lose digits" in explore.loss_scale(metrics).picture
    assert "so the step is lost" in explore.loss_scale(metrics, power=32).picture
    assert "are cut to 448" in explore.loss_scale(metrics, power=32, format="fp8 e4m3").picture
    with pytest.raises(CourseError, match="no histogram of gradients"):
        explore.loss_scale(pd.DataFrame([{"loss": 0.5}]))


@pytest.mark.parametrize("log", [True, False])
def test_curves_fit_also_where_they_end_together_or_break_off(log):
    curves = {
        f"O{i}": [(step, math.exp(-step / 300) + i * 1e-4) for step in range(0, 1001, 20)]
        for i in range(4)
    }
    curves["broken"] = [(0, 1.0), (20, 0.8), (40, math.nan), (60, 0.5)]
    picture = explore.loss_curves(curves, "Four that agree and one that breaks off", log=log)
    assert_fits(picture)
    assert "broken 0.8" in picture.alt and "nan" not in picture


def test_curves_without_a_point_are_a_clear_sentence():
    with pytest.raises(CourseError, match="no curve to draw"):
        explore.loss_curves({"O3": [(0, math.nan)]}, "Nothing")
