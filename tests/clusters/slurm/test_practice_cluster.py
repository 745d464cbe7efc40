"""The practice cluster leaves nothing behind; if it cannot start, one sentence says why.

Tests that need Slurm's daemons are skipped, with the reason, if these are not installed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from support import slurm_folder
from support.patience import PATIENCE_S, runs, until
from support.practice_cluster import PracticeCluster, obstacle

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


@pytest.fixture
def left_over(tmp_path, monkeypatch):
    """The folder of a cluster whose owner has ended, as it remains in the temporary folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / f"{slurm_folder.PREFIX}abandoned"
    (folder / "munge").mkdir(parents=True)
    slurm_folder.take_ownership(folder).close()
    return folder


@pytest.fixture
def sleeper():
    """A process of ours that belongs to no cluster."""
    process = subprocess.Popen(["sleep", "600"])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def test_a_process_that_has_by_now_the_id_of_a_daemon_survives(left_over, sleeper):
    """Process ids are reused; after a restart of a container they start from the lowest again."""
    for name in ("slurmctld.pid", "munge/munged.pid", "node1.pid"):
        (left_over / name).write_text(f"{sleeper.pid}\n")
        slurm_folder.record_daemon(left_over, name)
        record = left_over / f"{name}{slurm_folder.RECORD}"
        record.write_text(json.dumps([sleeper.pid, sleeper.create_time() - 60]))
    (left_over / "node2.pid").write_text(f"{sleeper.pid}\n")  # without a record of its start time
    slurm_folder.remove_abandoned()
    assert sleeper.is_running() and sleeper.status() != psutil.STATUS_ZOMBIE
    assert not left_over.exists()


def test_a_daemon_that_is_left_over_is_killed(left_over, sleeper):
    (left_over / "munge" / "munged.pid").write_text(f"{sleeper.pid}\n")
    slurm_folder.record_daemon(left_over, "munge/munged.pid")
    slurm_folder.remove_abandoned()
    assert psutil.wait_procs([sleeper], timeout=PATIENCE_S)[1] == []


def test_a_cluster_whose_owner_lives_stays_and_so_does_what_only_looks_like_one(left_over):
    lock = slurm_folder.take_ownership(left_over)
    others = left_over.with_name(f"{slurm_folder.PREFIX}somebodys")
    others.mkdir()
    (others / slurm_folder.OWNER).touch()
    if os.geteuid() == 0:
        os.chown(others, 12345, 12345)
    else:
        shutil.rmtree(others)
    link = left_over.with_name(f"{slurm_folder.PREFIX}link")
    link.symlink_to(left_over.parent / "elsewhere")
    (left_over.parent / "elsewhere").mkdir()
    (left_over.parent / "elsewhere" / slurm_folder.OWNER).touch()
    before = sorted(left_over.parent.rglob("*"))
    slurm_folder.remove_abandoned()
    assert sorted(left_over.parent.rglob("*")) == before
    lock.close()
    slurm_folder.remove_abandoned()
    assert not left_over.exists() and link.exists()


@LIVE
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
    daemons = slurm_folder.daemons(folder, "*")
    owner.kill()
    owner.wait()
    assert len(daemons) == 3 and all(daemon.is_running() for daemon in daemons)
    slurm_folder.remove_abandoned()
    until(lambda: not any(daemon.is_running() for daemon in daemons))
    assert not folder.exists()


@LIVE
@pytest.mark.parametrize("processes", [1, 3], ids=["a job that is starting", "a job that runs"])
def test_a_practice_cluster_leaves_nothing_behind(processes):
    """A job starts with its step daemon, then come the batch script and the processes it starts."""
    with PracticeCluster(nodes=1, gpus=1) as practice:
        practice.commands.run("sbatch", "--wrap=sleep 4321", "--output=/dev/null")
        until(lambda: len(slurm_folder.job_processes(practice.folder, "node1")) >= processes)
        living = slurm_folder.daemons(practice.folder, "*")
        living += slurm_folder.job_processes(practice.folder, "node1")
        assert len(living) >= 3 + processes
    until(lambda: not any(runs(process.pid) for process in living))
    assert not any(
        "4321" in (process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])
    )
    assert not practice.folder.exists()


@LIVE
def test_jobs_of_two_clusters_at_once_have_different_numbers_and_so_ports():
    with PracticeCluster(nodes=1, gpus=1) as one, PracticeCluster(nodes=1, gpus=1) as other:
        ask = ("sbatch", "--parsable", "--wrap=true", "--output=/dev/null")
        assert one.commands.run(*ask) != other.commands.run(*ask)


@LIVE
def test_more_gpus_than_it_can_pretend_are_refused():
    with pytest.raises(CourseError, match="1 to 4 GPUs, not 5"):
        PracticeCluster(gpus=5)
    assert "SLURM_CONF" not in os.environ
