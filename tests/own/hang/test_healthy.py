"""Healthy runs are never ended and never accused, whatever takes long in them."""

from pathlib import Path

import pytest

from course.own import watched
from course.own.hang.verdict import ITSELF, LIMIT

ZOO = Path(__file__).parents[1] / "zoo"
PLANTS = Path(__file__).with_name("plants")
RANKS = ["torchrun", "--standalone", "--nproc-per-node"]
pytestmark = [pytest.mark.slow, pytest.mark.rest]


@pytest.mark.parametrize("name", sorted(path.stem for path in ZOO.glob("*.py")))
def test_nothing_is_named_in_a_healthy_run(warm_ranks: None, name: str) -> None:
    count = "1" if name == "one_rank" else "2"
    with watched(patience=20.0) as one:
        run = one.run([*RANKS, count, str(ZOO / f"{name}.py")])
        assert run.ok, run.text(run.first_failed)
        found = one.verdict(run)
    assert (found.ended, found.findings) == (ITSELF, [])


@pytest.mark.parametrize("kind", ["computes", "loads", "saves", "starts a program"])
def test_a_rank_that_works_for_long_is_waited_for(
    warm_ranks: None, kind: str, tmp_path: Path
) -> None:
    with watched(patience=4.0) as one:
        run = one.run([*RANKS, "2", str(PLANTS / "takes_long.py"), kind, str(tmp_path)])
        assert one.verdict(run).findings == []
    assert run.ok and "rank 0: done" in run.text(0)


def test_at_a_limit_ranks_that_work_are_not_accused(warm_ranks: None, tmp_path: Path) -> None:
    script = tmp_path / "trains.py"
    text = (PLANTS / "with_ddp.py").read_text()
    script.write_text(text.replace("range(10)", "range(10**6)").replace("== 6", "== -1"))
    with watched() as one:
        run = one.run([*RANKS, "2", str(script), "none"], limit=6.0)
        found = one.verdict(run)
    assert (found.ended, found.findings) == (LIMIT, [])
    assert "The ranks were still working:" in found.lead and "(step " in found.ranks[0]
