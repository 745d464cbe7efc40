"""The lanes of ranks when one is killed: where they stand still, and for how long."""

import pandas as pd
import pytest
from support.pictures import assert_fits

from course.charts import Training, draw_training, replica_lanes
from course.core import CourseError


def rows(*steps: tuple[int, float]) -> list[dict]:
    return [{"rank": rank, "time": 100 + time, "step": n} for n, (rank, time) in enumerate(steps)]


STEPS = rows((0, 0.0), (0, 0.1), (0, 2.1), (0, 2.2), (1, 0.0), (1, 0.1))
MEASURED = pd.DataFrame([*STEPS, {"rank": 1, "time": 100.15, "event": "killed"}])


def test_the_title_says_how_long_the_others_stand_still():
    picture = replica_lanes({"In rounds": MEASURED})
    assert_fits(picture)
    assert "The others stand still for 2 s" in str(picture)
    assert "rank 1 is killed after 150 ms" in str(picture)


def test_a_rank_that_never_pauses():
    run = Training({0: [(0.0, 3.0)]}, {})
    assert run.longest_pause(0) == 0 and run.end() == 3
    assert "stands still for 0 s" in str(draw_training({"one": run}, "title", "subtitle"))


def test_nobody_was_killed():
    table = pd.DataFrame(STEPS).assign(event=None)
    assert "killed after" not in str(replica_lanes({"all is well": table}))


def test_no_step():
    with pytest.raises(CourseError, match="run the script first"):
        replica_lanes({"": MEASURED[MEASURED["event"] == "killed"]})
