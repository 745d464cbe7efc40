"""Lab 12b's replicas: when one is killed the others go on, and nothing stays behind."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support import on_rank_group, solutions
from support.patience import PATIENCE_S, until

from course.checks.runner.on_ranks import CheckRanks
from course.launch import launch

pytestmark = [pytest.mark.slow, pytest.mark.rest]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the solved scripts of the lab, which is the working directory."""
    (tmp_path / "src").mkdir()
    solutions.write("12b_no_dead_stops", tmp_path / "src")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_others_go_on(folder):
    run = launch(["python", "src/start_replicas.py"], limit=PATIENCE_S)
    assert run.ok and not run.left_behind, run.text(0)
    rounds = [row for row in run.rows if "round" in row]
    members = {row["round"]: set(row["members"].split()) for row in rounds}
    assert len({(row["round"], row["members"]) for row in rounds}) == len(members)
    assert members[4] == {"0.1", "1.1", "2.1", "3.1"}
    assert not any("2.1" in names for number, names in members.items() if number > 5)
    survivors = [row for row in run.rows if row["rank"] != 2 and "step" in row]
    assert len({(row["rank"], row["step"]) for row in survivors}) == len(survivors) == 3 * 320


def test_who_leaves_a_failed_round_closes_its_connections(folder):
    """Otherwise the others wait until their limit, are late for the next round, and miss it."""
    function, options = on_rank_group.hears_of_a_failure, {"limit": 2 * PATIENCE_S, "join": False}
    _, failure = CheckRanks(folder / "src").call(2, function, PATIENCE_S, **options)
    assert failure and "imed out" not in failure


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_nothing_stays_behind(folder, end):
    """The script runs as in a terminal, without a supervisor that cleans up after it."""
    log = folder / "said.txt"
    with log.open("w") as output:
        script = subprocess.Popen(
            [sys.executable, "src/start_replicas.py"], stdout=output, stderr=subprocess.STDOUT
        )
        try:
            until(lambda: "round 2" in log.read_text() or script.poll() is not None)
            started = psutil.Process(script.pid).children(recursive=True)
        finally:
            getattr(script, end)()
            script.wait()
    assert len(started) >= 5  # the store and four replicas
    until(lambda: not any(map(_runs, started)))


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
