"""Healthy scripts of many kinds: nothing is named that would have to be cured."""

from pathlib import Path

import pytest

from course.core import CourseError
from course.own import Answer, watch_ranks

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

ZOO = Path(__file__).parents[1] / "zoo"
ALONE = "one_rank"


def judged(name: str, ranks: int = 2) -> Answer:
    """What `why` answers of such a script."""
    words = ["torchrun", "--standalone", "--nproc-per-node", str(ranks)]
    run, reports = watch_ranks([*words, str(ZOO / f"{name}.py")])
    assert run.ok, run.text(run.first_failed)
    return Answer(reports)


@pytest.mark.parametrize("name", sorted({path.stem for path in ZOO.glob("*.py")} - {ALONE}))
def test_nothing_is_to_be_cured(warm_ranks: None, name: str) -> None:
    answer = judged(name)
    assert answer.causes[0].cause == "computing"
    assert [finding for finding in answer.findings if not finding.note] == []


def test_one_rank_cannot_be_judged(warm_ranks: None) -> None:
    with pytest.raises(CourseError, match="This was one process"):
        judged(ALONE, ranks=1)


def test_the_zoo_is_large() -> None:
    assert len(list(ZOO.glob("*.py"))) >= 30
