"""A real Slurm, started for these tests: nodes with pretended GPUs on this machine.

Skipped, with the reason, where its daemons are not installed or may not be started.
"""

import contextlib
import time
from pathlib import Path

import psutil
import pytest
from support.launching import until

from course.clusters import slurm
from course.clusters.slurm.practice_cluster import PracticeCluster, obstacle
from course.core.errors import CourseError
from course.explore.models import backfill
from course.lessons import lesson

HELLO = """
import os, socket, sys, time
from course import log

for step in range(3):
    log(step=step, steps=3, loss=1 / (step + 1))
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "CUDA_VISIBLE_DEVICES")
line = " ".join(f"{name}={os.environ.get(name)}" for name in names)
os.write(1, f"{line}\\n".encode())  # in one piece
if len(sys.argv) > 1:
    time.sleep(float(sys.argv[1]))
"""

LESSON = Path(lesson.__file__).parent / "09_clusters.md"
pytestmark = [
    pytest.mark.skipif(obstacle() is not None, reason=f"no Slurm here: {obstacle()}"),
    pytest.mark.timeout(480),
]


@pytest.fixture(scope="module")
def practice():
    """Three nodes with four pretended GPUs each."""
    with PracticeCluster(nodes=3, gpus=4, timeout=5) as running:
        yield running


@pytest.fixture
def cluster(practice, tmp_path, monkeypatch) -> slurm.Cluster:
    """Their Slurm, from a folder with a script; afterwards nothing runs there any more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/hello.py").write_text(HELLO)
    found = slurm.Cluster(practice.commands)
    yield found
    practice.commands.run("scancel", "--user=root")
    until(
        lambda: not found.jobs(), 150
    )  # seldom a daemon misses an order, and Slurm repeats it after a minute


def test_the_cluster_is_found_through_slurms_own_variable(practice, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", str(practice.conf))
    found = slurm.connect()
    assert repr(found) == "Slurm: 3 nodes, 12 GPUs, of which 0 are held"


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
        ("single", 1, 1, None),
        ("mirrored", 1, 2, 2),
        ("ddp", 2, 2, 4),
        ("horovod", 2, 2, 4),
        ("accelerate", 2, 1, 2),
    ],
)
def test_the_file_of_a_strategy_starts_its_ranks(
    cluster, practice, monkeypatch, strategy, nodes, gpus, worlds
):
    monkeypatch.setenv("ACCELERATE_USE_CPU", "1")  # the GPUs are pretended
    cluster = slurm.Cluster(practice.commands)  # whose jobs inherit that
    job = cluster.submit(slurm.Request("src/hello.py", strategy, nodes=nodes, gpus=gpus))
    end = job.follow(limit=120, show=False)
    assert (end.state, end.exit_code) == ("COMPLETED", 0), job.log()
    lines = sorted(line for line in job.log().splitlines() if line.startswith("RANK="))
    visible = ",".join(map(str, range(gpus)))
    if worlds is None:
        assert lines == ["RANK=None LOCAL_RANK=None WORLD_SIZE=None CUDA_VISIBLE_DEVICES=0"]
    else:
        wanted = [
            f"RANK={r} LOCAL_RANK={r % gpus} WORLD_SIZE={worlds} CUDA_VISIBLE_DEVICES={visible}"
            for r in range(worlds)
        ]
        assert lines == wanted
    assert job.metrics["rank"].nunique() == (worlds or 1)
    assert job.curves().startswith("<svg")


def test_a_job_is_seen_waiting_holding_and_cancelled(cluster, capsys):
    first = cluster.submit(
        slurm.Request("src/hello.py 60", "single", gpus=1, minutes=5, name="first")
    )
    until(lambda: first.now.state == "RUNNING")
    whole = cluster.submit(
        slurm.Request("src/hello.py", "ddp", nodes=3, gpus=4, minutes=5, name="whole")
    )
    until(lambda: whole.now.reason == "Resources" and whole.now.start > 0)
    table = cluster.holders().set_index("name")
    assert table.loc["first", "state"] == "running" and table.loc["first", "GPUs a node"] == 1
    assert table.loc["whole", "why it waits"] == "the GPUs it asked for are held by others"
    assert 240 < whole.now.start - time.time() <= 301  # when the first job's limit ends it
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
    job = cluster.job(int(cluster.commands.run("sbatch", "--parsable", given=text)))
    until(lambda: job.now.reason == "PartitionNodeLimit")
    job.follow(limit=20)
    assert "asks for more nodes than its partition gives" in (said := capsys.readouterr().out)
    assert "It will never start" in said
    with pytest.raises(CourseError, match="This cluster has no such partition"):
        cluster.commands.run("sbatch", given=slurm.Request("src/hello.py", partition="nope").text())
    with pytest.raises(CourseError, match="No nodes of this partition can ever give that"):
        cluster.commands.run("sbatch", given=slurm.Request("src/hello.py", gpus=9).text())
    with pytest.raises(CourseError, match="knows no job 99999"):
        cluster.job(99999).cancel()


def test_a_log_that_is_not_there_is_said(cluster):
    job = cluster.submit(slurm.Request("src/hello.py 30", "single"))
    until(lambda: job.now.state == "RUNNING" and Path(job.now.output).exists())
    Path(job.now.output).unlink()
    with pytest.raises(
        CourseError, match=f"The log of job {job.number} is not there yet: .*hello-{job.number}.out"
    ):
        job.log()


def test_nodes_are_reserved_shown_and_used(cluster, practice):
    made = cluster.reserve("course", "node3", "now", 5, "root")
    try:
        assert (made.nodes, made.end - made.start) == (("node3",), 300)
        assert "reserved: root" in cluster.board()
        job = cluster.submit(slurm.Request("src/hello.py", "single", reservation="course"))
        assert job.follow(limit=200, show=False).nodes == ("node3",)
        with pytest.raises(CourseError, match="Those nodes are reserved at that time"):
            cluster.reserve("twice", "node3", "now", 5, "root")
    finally:
        practice.commands.run("scontrol", "delete", "reservation=course")


def resumable(cluster: slurm.Cluster, steps: int, seconds: float) -> slurm.SubmittedJob:
    """The lab's own script, submitted as the lab submits it."""
    scripts = lesson.read(LESSON).scripts(solved=True)
    Path("src/resumable.py").write_text(scripts["src/resumable.py"])
    ask = slurm.Request(
        f"src/resumable.py --steps {steps} --seconds {seconds}", nodes=2, gpus=1, resume=True
    )
    job = cluster.submit(ask)
    until(lambda: len(job.metrics) and job.metrics["step"].max() >= 25)
    return job


def processes_of(job: slurm.SubmittedJob) -> list[psutil.Process]:
    """The processes of this machine that belong to the job."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("SLURM_JOB_ID") == str(job.number):
                found.append(process)
    return found


def begun(job: slurm.SubmittedJob) -> list[int]:
    """The steps from which its runs began."""
    return [int(line.split()[-1]) for line in job.log().splitlines() if "ranks, from step" in line]


def test_a_job_told_that_its_time_is_up_saves_and_is_requeued(cluster, practice):
    job = resumable(cluster, 2000, 0.05)
    practice.commands.run(
        "scancel", "--signal=USR1", "--batch", str(job.number)
    )  # as Slurm does a minute before the end
    until(lambda: job.now.restarts == 1)
    until(lambda: "told to stop, saved after step" in job.log())
    (saved,) = {
        int(line.split()[-1]) for line in job.log().splitlines() if line.startswith("told to stop")
    }
    assert saved >= 25
    until(lambda: job.now.state == "PENDING")
    practice.commands.run(
        "scontrol", "update", f"jobid={job.number}", "starttime=now"
    )  # Slurm would wait two minutes
    until(lambda: len(begun(job)) == 2)
    assert begun(job) == [0, saved]


def test_a_job_whose_node_dies_is_requeued_and_goes_on_elsewhere_from_its_checkpoint(
    cluster, practice
):
    job = resumable(cluster, 60, 0.1)
    first = job.now.nodes
    practice.kill_node(first[1])
    try:
        until(lambda: job.now.restarts == 1 and job.now.state == "PENDING")
        # Its nodes are one machine, where the ranks that still end hold the port of those to come.
        until(lambda: not processes_of(job))
        practice.commands.run("scontrol", "update", f"jobid={job.number}", "starttime=now")
        end = job.follow(limit=200, show=False)
        assert (end.state, end.exit_code, end.restarts) == ("COMPLETED", 0, 1)
        assert first[1] not in end.nodes
        assert begun(job) == [0, 20]
        dead = next(node for node in cluster.nodes() if node.name == first[1])
        assert not dead.up
    finally:
        practice.start_node(first[1])
        until(lambda: all(node.up for node in cluster.nodes()))


def test_the_explorables_plan_is_slurms_own(cluster, practice):
    """Slurm's backfill expects the same starts of the same jobs.

    An hour of the picture is ten minutes here.
    """
    sleep = "import time; time.sleep(200)"
    Path("src/sleeps.py").write_text(sleep)

    def ask(wish: backfill.Wish) -> slurm.SubmittedJob:
        name = wish.name.partition(":")[0]
        strategy = "ddp" if wish.nodes > 1 else "mirrored"
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
    wanted = [job.start for job in backfill.plan(mine)[len(backfill.RUNNING) :]]
    until(lambda: all(handle.now.start for handle in handles))
    got = [(handle.now.start - began) / 600 for handle in handles]
    assert got == pytest.approx(
        wanted, abs=0.25
    )  # Slurm plans in steps of a minute (bf_resolution)
    short = ask(backfill.Wish("Short", 1, 2, 5))
    until(lambda: short.now.state == "RUNNING", 20)  # it fits in front of the large one
