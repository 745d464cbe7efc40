"""The plot of measured bandwidths."""

import pytest
from support.pictures import assert_fits

from course.charts.bandwidth import bandwidth
from course.charts.log_axes import LogAxes
from course.core.errors import CourseError
from course.explore.models.all_reduce import ALGORITHMS


def test_a_bandwidth_plot_fits_and_names_its_lines():
    lines = {
        name: [(4.0**k * 1024, 10.0 ** (i - k / 4)) for k in range(9)]
        for i, name in enumerate(ALGORITHMS)
    }
    picture = bandwidth(lines, {"ring": lines["ring"]})
    assert_fits(picture)
    assert all(f">{name}<" in picture for name in ALGORITHMS) and "dashed" in picture
    assert_fits(bandwidth({"one": [(1024.0, 1.0)]}))


LINE = [(1024, 1.0)]


@pytest.mark.parametrize(
    ("measured", "predicted"),
    [
        ({}, {}),
        ({"ring": []}, {}),
        ({"ring": [(1024, 0.0)]}, {}),
        ({}, {"ring": LINE}),
        ({"ring": []}, {"ring": LINE}),
        ({"ring": LINE}, {"ring": []}),
    ],
)
def test_a_bandwidth_plot_without_measurements_is_refused(measured, predicted):
    with pytest.raises(CourseError, match="above 0"):
        bandwidth(measured, predicted)


@pytest.mark.parametrize(
    ("low", "high", "guides"),
    [
        (1.0, 11.3, [1, 2, 5, 10, 20]),
        (0.3, 0.3, [0.2, 0.5]),
        (1.0, 1.0, [1, 2]),
        (0.0005, 480.0, [10.0**power for power in range(-4, 4)]),
        (3.0, 1000.0, [1, 10, 100, 1000]),
    ],
)
def test_the_guides_of_the_values_are_round_numbers_around_them(low, high, guides):
    axes = LogAxes([(1024.0, low), (2048.0, high)], "buffer", "GB/s")
    assert axes.guides == pytest.approx(guides)
    assert axes.at(1024, guides[0])[1] > axes.at(1024, guides[-1])[1]
