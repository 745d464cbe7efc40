"""The plot of loss curves."""

import math

import pytest
from support.pictures import assert_fits

from course.charts.loss_curves import loss_curves
from course.core.errors import CourseError


@pytest.mark.parametrize("log", [True, False])
def test_curves_fit_also_where_they_end_together_or_break_off(log):
    curves = {
        f"O{i}": [(step, math.exp(-step / 300) + i * 1e-4) for step in range(0, 1001, 20)]
        for i in range(4)
    }
    curves["broken"] = [(0, 1.0), (20, 0.8), (40, math.nan), (60, 0.5)]
    picture = loss_curves(curves, "Four that agree and one that breaks off", log=log)
    assert_fits(picture)
    assert "broken 0.8" in picture.alt and "nan" not in picture


def test_curves_without_a_point_are_a_clear_sentence():
    with pytest.raises(CourseError, match="no curve to draw"):
        loss_curves({"O3": [(0, math.nan)]}, "Nothing")
