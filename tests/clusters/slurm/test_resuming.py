"""A job that is interrupted on a real Slurm, with the lab's script, goes on from its checkpoint.

Skipped, with the reason, if Slurm's daemons are not installed or may not be started.
"""

import contextlib
import os
from pathlib import Path

import psutil
import pytest
from support.patience import PATIENCE_S
from support.practice_cluster import PracticeCluster, obstacle
from support.slurm import until

from course.clusters import slurm
from course.lessons import lesson

LESSON = Path(lesson.__file__).parent / "09b_queue_and_restart.md"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.rest,
    pytest.mark.skipif(obstacle() is not None, reason=f"no Slurm here: {obstacle()}"),
]


def resumable(cluster: slurm.Cluster, steps: int, seconds: float) -> slurm.SubmittedJob:
    """A job with the lab's own script, submitted as the lab submits it."""
    scripts = lesson.read(LESSON).scripts(solved=True)
    Path("src/resumable.py").write_text(scripts["src/resumable.py"])
    ask = slurm.Request(
        f"src/resumable.py --steps {steps} --seconds {seconds}", nodes=2, gpus=1, resume=True
    )
    job = cluster.submit(ask)
    until(lambda: len(job.metrics) and job.metrics["step"].max() >= 25)
    return job


def processes_of(job: slurm.SubmittedJob) -> list[psutil.Process]:
    """The processes on this machine that belong to the job."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("SLURM_JOB_ID") == str(job.number):
                processes.append(process)
    return processes


def begun(job: slurm.SubmittedJob) -> list[int]:
    """The steps from which the job's runs started."""
    return [int(line.split()[-1]) for line in job.log().splitlines() if "ranks, from step" in line]


def start_again(job: slurm.SubmittedJob, practice: PracticeCluster) -> None:
    """Start a requeued job without the two minutes that Slurm would wait.

    If it were started in the very second it was requeued, a node would refuse it, and it would
    fail.
    """
    practice.commands.run("scontrol", "update", f"jobid={job.number}", "starttime=now+2")


# Runs before Slurm's own command, and copies the job's log as it was when the job was requeued.
WITNESS = """#!/bin/sh
[ "$1" != requeue ] || cp runs/resumable-$2.out then.out
exec /usr/bin/scontrol "$@"
"""


def test_a_job_told_that_its_time_is_up_saves_and_only_then_is_requeued(
    cluster, practice, monkeypatch, tmp_path
):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/scontrol").write_text(WITNESS)
    (tmp_path / "bin/scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    job = resumable(slurm.Cluster(practice.commands), 2000, 0.05)
    # As Slurm does two minutes before the end.
    practice.commands.run("scancel", "--signal=USR1", "--batch", str(job.number))
    until(lambda: job.now.restarts == 1)
    then = Path("then.out").read_text().splitlines()
    (saved,) = {int(line.split()[-1]) for line in then if line.startswith("told to stop")}
    assert sum("Exited with exit code" in line for line in then) == 2  # both agents had ended
    assert saved >= 25
    until(lambda: job.now.state == "PENDING")
    start_again(job, practice)
    until(lambda: len(begun(job)) == 2)
    assert begun(job) == [0, saved]


def test_a_job_whose_node_dies_is_requeued_and_goes_on_elsewhere_from_its_checkpoint(
    cluster, practice
):
    job = resumable(cluster, 200, 0.1)
    first = job.now.nodes
    practice.kill_node(first[1])
    try:
        until(lambda: job.now.restarts == 1 and job.now.state == "PENDING")
        # All nodes are one machine, so ranks that are still ending hold the new ranks' port.
        until(lambda: not processes_of(job))
        start_again(job, practice)
        end = job.follow(limit=PATIENCE_S, show=False)
        assert (end.state, end.exit_code, end.restarts) == ("COMPLETED", 0, 1)
        assert first[1] not in end.nodes
        start, resumed = begun(job)
        assert start == 0 and resumed in range(20, 200, 20)  # wherever it was when the node died
        dead = next(node for node in cluster.nodes() if node.name == first[1])
        assert not dead.up
    finally:
        practice.start_node(first[1])
        until(lambda: all(node.up for node in cluster.nodes()))
