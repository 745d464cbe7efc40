"""Correct scripts of many kinds that look suspicious: no findings, except for notes."""

from pathlib import Path

import pytest
from diagnostics.right.test_planted import finds_nothing

from course.core import CourseError

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

ZOO = Path(__file__).parents[1] / "zoo"
ALONE = "one_rank"


@pytest.mark.parametrize("name", sorted({path.stem for path in ZOO.glob("*.py")} - {ALONE}))
def test_nothing_is_called_wrong(judge: object, name: str) -> None:
    finds_nothing(judge(ZOO / f"{name}.py"))


def test_one_rank_has_nothing_to_compare(judge: object) -> None:
    with pytest.raises(CourseError, match="This was one process"):
        judge(ZOO / f"{ALONE}.py", count=1)
