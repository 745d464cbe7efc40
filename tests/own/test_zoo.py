"""Right scripts of many kinds: each question is asked, and none finds anything to cure."""

from pathlib import Path

import pytest

from course.core import CourseError
from course.own import Answer, Ending, reports, watched
from course.own.hang.ending import ITSELF
from course.own.watch.timeline import RankReport

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

ZOO = Path(__file__).with_name("zoo")
ALONE = "one_rank"
PATIENCE_S = 20.0  # far less than a user's, so that a wait is noticed


def watch(name: str, ranks: int) -> tuple[Ending, list[RankReport]]:
    """How a run of such a script ended, and what its ranks report."""
    words = ["torchrun", "--standalone", "--nproc-per-node", str(ranks), str(ZOO / f"{name}.py")]
    with watched(steps=20, patience=PATIENCE_S) as one:
        run = one.run(words)
        assert run.ok, run.text(run.first_failed)
        return one.ending(run), reports(one.folder)


@pytest.mark.parametrize("name", sorted({path.stem for path in ZOO.glob("*.py")} - {ALONE}))
def test_nothing_is_found(warm_ranks: None, name: str) -> None:
    verdict, ranks = watch(name, 2)
    assert (verdict.ended, verdict.findings) == (ITSELF, [])
    answer = Answer(ranks)
    assert answer.causes[0].cause == "computing"
    assert [finding for finding in answer.findings if not finding.note] == []


def test_one_rank_cannot_be_judged(warm_ranks: None) -> None:
    verdict, ranks = watch(ALONE, 1)
    assert (verdict.ended, verdict.findings) == (ITSELF, [])
    with pytest.raises(CourseError, match="This was one process"):
        Answer(ranks)
