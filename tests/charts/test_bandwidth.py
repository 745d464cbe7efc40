"""The plot of measured bandwidths."""

import pytest
from support.pictures import assert_fits

from course.charts.bandwidth import bandwidth
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


@pytest.mark.parametrize("lines", [{}, {"ring": []}, {"ring": [(1024, 0.0)]}])
def test_a_bandwidth_plot_of_nothing_is_refused(lines):
    with pytest.raises(CourseError, match="above 0"):
        bandwidth(lines)
