"""The script of a lab, where this holds on any machine; test_recorded.py has more labs."""

from pathlib import Path

import pytest
from support import solutions
from support.watching import watch_ranks

from course.diagnostics import WhyAnswer

pytestmark = [pytest.mark.slow, pytest.mark.sampled]


def test_workers_that_read_the_same_and_take_a_share_each_are_not_accused(
    warm_ranks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    solutions.write("07_strategies", tmp_path)
    words = ["torchrun", "--standalone", "--nproc-per-node", "2", "train_any.py"]
    run, reports = watch_ranks([*words, "--strategy", "workers"])
    assert run.ok, run.text(run.first_failed)
    answer = WhyAnswer(reports)
    assert "not sharded" not in {cause.name for cause in answer.causes}
    assert "the shares of the data" in " ".join(str(answer).split())
