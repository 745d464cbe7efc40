"""Gradients under a loss scale: their fate, pictures that fit."""

import itertools
import math

import pandas as pd
import pytest
from support.pictures import assert_fits

from course import explore
from course.core.errors import CourseError
from course.explore.models.loss_scale import fate, highest_power, histograms, zone
from course.explore.models.number_formats import FORMATS
from course.explore.pictures.loss_scale import NARROW, draw


def gradients(middle: int = -18) -> dict[int, int]:
    """A bell-shaped histogram of gradients around 2^middle."""
    return {middle + i: round(1000 * math.exp(-(i**2) / 8)) for i in range(-7, 8)}


def test_the_fate_of_gradients_is_that_of_the_numbers():
    for name, power in itertools.product(NARROW, (0, 8, 30)):
        known, histogram = FORMATS[name], gradients()
        shares = fate(name, histogram, power)
        rounded = {e: known.round(1.5 * 2.0 ** (e + power)) for e in histogram}
        assert shares.zero == sum(histogram[e] for e in rounded if rounded[e] == 0) / sum(
            histogram.values()
        )
        assert sum(vars(shares).values()) == pytest.approx(1)
    zones = [zone("fp16", e) for e in (-26, -25, -15, -14, 15, 16)]
    assert zones == ["zero", "subnormal", "subnormal", "whole", "whole", "infinite"]


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
    assert_fits(draw(gradients(middle), "activations", name, power))


def test_a_run_with_a_histogram_becomes_an_explorable():
    rows = [{"where": "weights", "exponent": e, "count": n} for e, n in gradients().items()]
    metrics = pd.DataFrame([{"step": 1, "loss": 0.5}, *rows])
    assert histograms(metrics.to_dict("records")) == {"weights": gradients()}
    assert "lose digits" in explore.loss_scale(metrics).picture
    assert "so the step is lost" in explore.loss_scale(metrics, power=32).picture
    assert "are cut to 448" in explore.loss_scale(metrics, power=32, format="fp8 e4m3").picture
    with pytest.raises(CourseError, match="no histogram of gradients"):
        explore.loss_scale(pd.DataFrame([{"loss": 0.5}]))
