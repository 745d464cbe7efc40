"""A real Slurm, started for these tests: nodes with pretended GPUs on this machine.

Skipped, with the reason, if its daemons are not installed or may not be started.
"""

from pathlib import Path

import psutil
import pytest
from support.patience import PATIENCE_S
from support.practice_cluster import obstacle
from support.slurm import until

from course.clusters import slurm
from course.core.errors import CourseError
from course.explore.models import backfill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.rest,
    pytest.mark.skipif(obstacle() is not None, reason=f"no Slurm here: {obstacle()}"),
]


def test_the_cluster_is_found_through_slurms_own_variable(practice, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", str(practice.conf))
    connected = slurm.connect()
    assert repr(connected) == "Slurm: 3 nodes, 12 GPUs, of which 0 are held"


def test_nothing_of_it_listens_beyond_loopback(practice):
    pids = {int(path.read_text()) for path in practice.folder.glob("*.pid")}
    assert len(pids) == 4
    listening = [
        c.laddr.ip for c in psutil.net_connections("inet") if c.pid in pids and c.status == "LISTEN"
    ]
    assert listening and set(listening) == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("strategy", "nodes", "gpus", "worlds"),
    [
        ("one_process", 1, 1, None),
        ("standalone", 1, 2, 2),
        ("torchrun", 2, 2, 4),
        ("tasks", 2, 2, 4),
        ("accelerate", 1, 1, None),
        ("accelerate", 2, 1, 2),
    ],
)
def test_the_file_of_a_strategy_starts_its_ranks(cluster, strategy, nodes, gpus, worlds):
    """Slurm assigns pretended GPUs; the ranks see none of the real GPUs that this machine has."""
    job = cluster.submit(slurm.Request("src/hello.py", strategy, nodes=nodes, gpus=gpus))
    end = job.follow(limit=PATIENCE_S, show=False)
    assert (end.state, end.exit_code) == ("COMPLETED", 0), job.log()
    lines = sorted(line for line in job.log().splitlines() if line.startswith("RANK="))
    held = ",".join(map(str, range(gpus)))
    places = [(None, None, None, None)]
    if worlds:
        places = [(rank, worlds, rank % gpus, gpus) for rank in range(worlds)]
    assert lines == [
        f"RANK={rank} WORLD_SIZE={world} LOCAL_RANK={local} LOCAL_WORLD_SIZE={local_world} "
        f"SLURM_STEP_GPUS={held} visible=''"
        for rank, world, local, local_world in places
    ]
    assert job.metrics["rank"].nunique() == (worlds or 1)
    assert job.curves().startswith("<svg")


def test_a_job_is_seen_waiting_holding_and_cancelled(cluster, capsys):
    first = cluster.submit(
        slurm.Request("src/hello.py 3000", "one_process", gpus=1, minutes=60, name="first")
    )
    until(lambda: first.now.state == "RUNNING")
    whole = cluster.submit(
        slurm.Request("src/hello.py", "torchrun", nodes=3, gpus=4, minutes=5, name="whole")
    )
    until(lambda: whole.now.reason == "Resources" and whole.now.start > 0)
    table = cluster.holders().set_index("name")
    assert table.loc["first", "state"] == "running" and table.loc["first", "GPUs per node"] == 1
    assert table.loc["whole", "why it waits"] == "the GPUs it asked for are held by others"
    # The time when the first job's limit ends it; Slurm plans in steps of a minute.
    assert whole.now.start - first.now.start == pytest.approx(3600, abs=61)
    assert [len(held) for job in cluster.jobs() for held in job.gpus.values()] == [1]
    picture = cluster.board(mine=first.number)
    assert "1 of 12 GPUs are held" in picture and "whole, 3 nodes × 4 GPUs, to start in" in picture
    with pytest.raises(
        CourseError, match=f"Job {whole.number} has no log yet: it waits, since the GPUs"
    ):
        whole.log()
    assert whole.follow(limit=1.5).state == "PENDING"
    assert "goes on without being watched" in capsys.readouterr().out
    for job in (whole, first):
        job.cancel()
        until(lambda job=job: job.now.ended)
        assert job.now.state == "CANCELLED"
    history = cluster.history().query("JobName in ('first', 'whole')")
    assert history["State"].tolist() == ["CANCELLED", "CANCELLED"]


def test_jobs_that_slurm_would_let_wait_for_ever_are_refused_first_and_told_if_they_are_there(
    cluster, capsys
):
    for wrong in (
        {"nodes": 4},
        {"gpus": 5},
        {"minutes": 1441},
        {"partition": "nope"},
        {"reservation": "nope"},
    ):
        with pytest.raises(CourseError):
            cluster.submit(slurm.Request("src/hello.py", **wrong))
    assert cluster.jobs() == []
    with pytest.raises(CourseError, match=r"There is no script src/none\.py in"):
        cluster.submit(slurm.Request("src/none.py"))
    text = slurm.Request("src/hello.py", nodes=4).text()  # past our check, straight to sbatch
    job = cluster.job(int(cluster.commands.run("sbatch", "--parsable", stdin=text)))
    until(lambda: job.now.reason == "PartitionNodeLimit")
    job.follow(limit=PATIENCE_S)
    assert "asks for more nodes than its partition gives" in (output := capsys.readouterr().out)
    assert "It will never start" in output
    with pytest.raises(CourseError, match="This cluster has no such partition"):
        cluster.commands.run("sbatch", stdin=slurm.Request("src/hello.py", partition="nope").text())
    with pytest.raises(CourseError, match="No nodes of this partition can ever give that"):
        cluster.commands.run("sbatch", stdin=slurm.Request("src/hello.py", gpus=9).text())
    with pytest.raises(CourseError, match="No node has what `constraint` names"):
        cluster.commands.run("sbatch", stdin=slurm.Request("src/hello.py", constraint="no").text())
    with pytest.raises(CourseError, match="knows no job 99999"):
        cluster.job(99999).cancel()


def test_a_log_that_is_not_there_is_said(cluster):
    job = cluster.submit(slurm.Request("src/hello.py 3000", "one_process"))
    log = Path(job.now.output)
    until(lambda: log.exists() and "RANK=" in log.read_text())  # before that, no signal ends it
    log.unlink()
    with pytest.raises(
        CourseError, match=f"The log of job {job.number} is not there yet: .*hello-{job.number}.out"
    ):
        job.log()


def test_nodes_are_reserved_shown_and_used(cluster, practice):
    made = cluster.reserve("course", "node3", "now", 5, "root")
    try:
        assert (made.nodes, made.end - made.start) == (("node3",), 300)
        assert "reserved: root" in cluster.board()
        job = cluster.submit(slurm.Request("src/hello.py", "one_process", reservation="course"))
        assert job.follow(limit=PATIENCE_S, show=False).nodes == ("node3",)
        with pytest.raises(CourseError, match="Those nodes are reserved at that time"):
            cluster.reserve("twice", "node3", "now", 5, "root")
    finally:
        practice.commands.run("scontrol", "delete", "reservation=course")


def test_the_explorables_plan_is_slurms_own(cluster, practice):
    """Slurm's backfill expects the same start times for the same jobs.

    An hour in the picture is ten minutes here.
    """
    sleep = "import time; time.sleep(6000)"
    Path("src/sleeps.py").write_text(sleep)

    def ask(wish: backfill.Wish) -> slurm.SubmittedJob:
        name = wish.name.partition(":")[0]
        strategy = "torchrun" if wish.nodes > 1 else "standalone"
        return cluster.submit(
            slurm.Request(
                "src/sleeps.py",
                strategy,
                nodes=wish.nodes,
                gpus=wish.gpus,
                minutes=int(10 * wish.hours),
                name=name,
            )
        )

    for planned in backfill.RUNNING:
        job = ask(planned.wish)
        until(lambda job=job: job.now.state == "RUNNING")
    began = min(job.start for job in cluster.jobs())
    mine = backfill.Wish("You", 1, 2, 8)
    handles = [ask(wish) for wish in (*backfill.WAITING, mine)]
    expected = [job.start for job in backfill.plan(mine)[len(backfill.RUNNING) :]]
    until(lambda: all(handle.now.start for handle in handles))
    got = [(handle.now.start - began) / 600 for handle in handles]
    assert got == pytest.approx(
        expected, abs=0.25
    )  # Slurm plans in steps of a minute (bf_resolution)
    short = ask(backfill.Wish("Short", 1, 2, 5))
    until(lambda: short.now.state == "RUNNING")  # it fits in front of the large one
