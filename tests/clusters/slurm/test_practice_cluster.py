"""The practice cluster leaves nothing behind, and says in one sentence where there can be none.

Skipped, with the reason, are the tests for which Slurm's daemons would have to be installed here.
"""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.launching import runs, until
from support.practice_cluster import PracticeCluster, obstacle, remove_abandoned

from course.core.errors import CourseError

pytestmark = pytest.mark.rest

LIVE = pytest.mark.skipif(obstacle() is not None, reason=f"no Slurm here: {obstacle()}")


def test_where_there_can_be_no_practice_cluster_one_sentence_says_why(monkeypatch):
    monkeypatch.setattr("support.practice_cluster._which", lambda program: None)
    assert obstacle().startswith("munged is not installed (apt-get install")
    with pytest.raises(
        CourseError, match="There is no practice cluster here: munged is not installed"
    ):
        PracticeCluster()


@LIVE
@pytest.mark.timeout(240)
def test_a_cluster_whose_owner_was_killed_is_taken_away_by_the_next():
    start = """
import time
from support.practice_cluster import PracticeCluster
print(PracticeCluster(nodes=1).folder, flush=True)
time.sleep(600)
"""
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", start]
    owner = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    folder = Path(owner.stdout.readline().strip())
    daemons = [psutil.Process(int(path.read_text())) for path in folder.rglob("*.pid")]
    owner.kill()
    owner.wait()
    assert len(daemons) == 3 and all(daemon.is_running() for daemon in daemons)
    remove_abandoned()
    psutil.wait_procs(daemons, timeout=5)
    assert not any(daemon.is_running() for daemon in daemons) and not folder.exists()


@LIVE
@pytest.mark.timeout(240)
@pytest.mark.parametrize("processes", [1, 3], ids=["a job that is starting", "a job that runs"])
def test_a_practice_cluster_leaves_nothing_behind(processes):
    """Of a job there are first the step daemon, then the batch script and what that runs."""
    with PracticeCluster(nodes=1, gpus=1) as practice:
        practice.commands.run("sbatch", "--wrap=sleep 4321", "--output=/dev/null")
        until(lambda: len(practice._job_processes("node1")) >= processes)
        pids = [
            int(path.read_text()) for path in practice.folder.rglob("*.pid")
        ] + practice._job_processes("node1")
        assert len(pids) >= 3 + processes
    until(lambda: not any(map(runs, pids)), 5)
    assert not any(
        "4321" in (process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])
    )
    assert not practice.folder.exists()


@LIVE
@pytest.mark.timeout(240)
def test_jobs_of_two_clusters_at_once_have_different_numbers_and_so_ports():
    with PracticeCluster(nodes=1, gpus=1) as one, PracticeCluster(nodes=1, gpus=1) as other:
        ask = ("sbatch", "--parsable", "--wrap=true", "--output=/dev/null")
        assert one.commands.run(*ask) != other.commands.run(*ask)


@LIVE
def test_more_gpus_than_it_can_pretend_are_refused():
    with pytest.raises(CourseError, match="1 to 4 GPUs, not 5"):
        PracticeCluster(gpus=5)
    assert "SLURM_CONF" not in os.environ
