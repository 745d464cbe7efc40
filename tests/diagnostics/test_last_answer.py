"""The answer at the end of a run, of which enough was seen or not."""

from pathlib import Path

import pytest

from course.core import CourseError
from course.diagnostics import RunEnding, output
from course.diagnostics.run import causes
from course.diagnostics.run.ending import HUNG, ITSELF


def too_few(_: Path) -> str:
    raise CourseError("Only 3 steps were seen.")


def none(_: Path) -> None:
    """No rank has reported."""


@pytest.mark.parametrize(
    "ending",
    [RunEnding(ITSELF, 1), RunEnding(HUNG, findings=[causes.OUTSIDE.finding("No rank moves.")])],
)
def test_a_run_that_failed_or_hung_needs_no_answer(ending: RunEnding) -> None:
    for judge in (too_few, none):
        assert output.last_answer("why", judge, Path(), ending) is None


def test_a_run_that_went_well_must_have_been_seen() -> None:
    with pytest.raises(CourseError, match="Only 3 steps were seen"):
        output.last_answer("right", too_few, Path(), RunEnding(ITSELF, 0))
    with pytest.raises(CourseError, match="No rank reported anything: `right` watches Python"):
        output.last_answer("right", none, Path(), RunEnding(ITSELF, 0))
