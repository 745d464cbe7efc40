"""A fixture that runs a script on warm ranks, and returns what `right` answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from course.diagnostics import NUMERICS, RightAnswer, WatchedRun, right_answer

PLANTS = Path(__file__).with_name("plants")

Judge = Callable[..., RightAnswer]


@pytest.fixture
def judge(warm_ranks: None) -> Judge:
    """A function that runs a script on `count` ranks, and returns the answer of `right`."""

    def ask(script: Path, *words: str, count: int = 2) -> RightAnswer:
        ranks = ["torchrun", "--standalone", "--nproc-per-node", str(count)]
        with WatchedRun(20, looks_at=NUMERICS) as watched_run:
            run = watched_run.run([*ranks, str(script), *words])
            assert run.ok, run.text(run.first_failed)
            answer = right_answer(watched_run.folder)
        assert answer is not None
        return answer

    return ask
