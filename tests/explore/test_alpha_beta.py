"""The α–β model: its fit, and the bus bandwidth."""

import math
import random

import numpy
import pytest

from course.core.errors import CourseError
from course.explore.models.all_reduce import plan
from course.explore.models.alpha_beta import AlphaBeta, bus_gb_per_s, fit


def test_a_fit_finds_the_numbers_that_made_the_times():
    points = [(a, b, a * 3e-5 + b * 2e-10) for a, b in ((1, 1e3), (6, 1e5), (2, 1e7), (4, 3e8))]
    link = fit(points)
    assert (link.latency_us, link.gb_per_s) == (pytest.approx(30), pytest.approx(5))


def test_a_fit_is_that_of_numpy_on_relative_errors():
    noise = random.Random(0)
    points = [
        (6, 1.5 * 4**k, (6 * 2e-5 + 1.5 * 4**k * 1e-9) * noise.uniform(0.7, 1.4))
        for k in range(4, 14)
    ]
    rows = numpy.array([(a / t, b / t) for a, b, t in points])
    expected, *_ = numpy.linalg.lstsq(rows, numpy.ones(len(points)))
    link = fit(points)
    assert (link.alpha, link.beta) == pytest.approx(tuple(expected))


def test_a_fit_is_never_negative():
    assert fit([(1, 1e3, 1e-6), (1, 1e6, 1.1e-3)]).alpha == 0
    assert fit([(1, 1e3, 1e-3), (1, 1e6, 0.9e-3)]).beta == 0
    assert fit([(1, 1e3, 1e-3), (1, 1e6, 0.9e-3)]).gb_per_s == math.inf


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "two different sizes"),
        ([(1, 8, 1.0)] * 3, "two different sizes"),
        ([(1, 8, 0.0), (1, 9, 1.0)], "above 0"),
    ],
)
def test_a_fit_without_measurements_is_refused(points, message):
    with pytest.raises(CourseError, match=message):
        fit(points)


def test_bus_bandwidth_of_a_perfect_ring_is_that_of_its_links():
    network = AlphaBeta.of(0, 12.5)
    for ranks in (2, 5, 64):
        assert bus_gb_per_s(1e9, plan("ring", ranks).seconds(network, 1e9), ranks) == pytest.approx(
            12.5
        )


def test_a_network_that_cannot_be_is_refused():
    with pytest.raises(CourseError, match="above 0 GB/s"):
        AlphaBeta.of(1, 0)
