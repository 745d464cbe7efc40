"""A measured step of nn.DataParallel over time."""

import pandas as pd
import pytest
from support.pictures import assert_fits

from course.charts.device_lanes import Stretch, alone_ms, device_lanes
from course.core.errors import CourseError

MEASURED = pd.DataFrame(
    [
        ("replicate", 0, 100, 110),
        ("forward", 0, 110, 120),
        ("forward", 1, 112, 124),
        ("gather", 0, 124, 125),
        ("loss", 0, 125, 135),
        ("backward", 0, 135, 155),
        ("backward", 1, 136, 154),
        ("step", 0, 155, 160),
    ],
    columns=["stage", "device", "start_ms", "end_ms"],
)


def test_a_measured_step_is_drawn_from_its_beginning_with_the_masters_time_in_the_title():
    picture = device_lanes({"Loss on the master": MEASURED, "again": MEASURED})
    assert_fits(picture)
    assert (
        "alone for 43 % and 43 % of a step" in picture
    )  # 60 ms, of which 14 forward and 20 backward
    assert "Loss on the master: 60 ms per step" in picture
    assert "nan" not in picture


def test_a_step_that_was_not_measured_is_one_clear_sentence():
    with pytest.raises(CourseError, match="run the script"):
        device_lanes({"": MEASURED[:0]})


def test_the_masters_time_is_all_but_what_is_done_together():
    stages = [
        (0, "scatter", 0, 5),
        (0, "forward", 5, 9),
        (1, "forward", 6, 10),
        (0, "backward", 10, 12),
    ]
    assert alone_ms([Stretch(*stage) for stage in stages]) == 5
