"""Correct scripts of many kinds: in a run of each, `run` finds nothing and `why` finds no fact.

Causes of lost time are not judged here, because a busy machine can make any of them true. They are
judged in why/test_recorded.py, on recorded runs of many of these scripts.
"""

from pathlib import Path

import pytest

from course.core import CourseError
from course.diagnostics import RunEnding, WatchedRun, WhyAnswer, reports
from course.diagnostics.profiling.timeline import RankReport
from course.diagnostics.run.ending import ITSELF
from course.diagnostics.why.detectors import DETECTORS

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

ZOO = Path(__file__).with_name("zoo")
ALONE = "one_rank"
# Causes that no load can imitate, since they are read off the settings and calls of the script.
FACTS = {kind.info.name for kind in DETECTORS if kind.is_fact} | {"idle DDP", "unused parameters"}
# The Trainer itself has DDP search for unused parameters, unless its user forbids it.
SEARCHES = ("trainer_saves", "with_trainer")


def watch(name: str, ranks: int) -> tuple[RunEnding, list[RankReport]]:
    """Run such a script; return how that ended, and what its ranks reported."""
    words = ["torchrun", "--standalone", "--nproc-per-node", str(ranks), str(ZOO / f"{name}.py")]
    with WatchedRun(steps=20) as watched_run:
        run = watched_run.run(words)
        assert run.ok, run.text(run.first_failed)
        return watched_run.ending(run), reports(watched_run.folder)


@pytest.mark.parametrize("name", sorted({path.stem for path in ZOO.glob("*.py")} - {ALONE}))
def test_nothing_is_found(warm_ranks: None, name: str) -> None:
    ending, ranks = watch(name, 2)
    assert (ending.ended, ending.findings) == (ITSELF, [])
    facts = {"unused parameters"} if name in SEARCHES else set()
    assert FACTS & {cause.name for cause in WhyAnswer(ranks).causes} == facts


def test_one_rank_cannot_be_judged(warm_ranks: None) -> None:
    ending, ranks = watch(ALONE, 1)
    assert (ending.ended, ending.findings) == (ITSELF, [])
    with pytest.raises(CourseError, match="This was one process"):
        WhyAnswer(ranks)
