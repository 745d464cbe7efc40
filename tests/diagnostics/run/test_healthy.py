"""Ranks that work for a long time are never accused, and not ended before a limit."""

from pathlib import Path

import pytest

from course.diagnostics import WatchedRun
from course.diagnostics.run.ending import LIMIT

PLANTS = Path(__file__).with_name("plants")
RANKS = ["torchrun", "--standalone", "--nproc-per-node"]
pytestmark = [pytest.mark.slow, pytest.mark.sampled]


@pytest.mark.parametrize("kind", ["computes", "loads", "saves", "starts a program"])
def test_a_rank_that_works_for_long_is_waited_for(
    warm_ranks: None, kind: str, tmp_path: Path
) -> None:
    with WatchedRun(patience=4.0) as watched_run:
        run = watched_run.run([*RANKS, "2", str(PLANTS / "takes_long.py"), kind, str(tmp_path)])
        assert watched_run.ending(run).findings == []
    assert run.ok and "rank 0: done" in run.text(0)


def test_at_a_limit_ranks_that_work_are_not_accused(warm_ranks: None, tmp_path: Path) -> None:
    script = tmp_path / "trains.py"
    text = (PLANTS / "with_ddp.py").read_text()
    script.write_text(text.replace("range(10)", "range(10**6)").replace("== 6", "== -1"))
    with WatchedRun() as watched_run:
        run = watched_run.run([*RANKS, "2", str(script), "none"], limit=6.0)
        ending = watched_run.ending(run)
    assert (ending.ended, ending.findings) == (LIMIT, [])
    assert "The ranks were still working:" in ending.lead and "(step " in ending.ranks[0]
