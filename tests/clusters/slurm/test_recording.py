"""The recording: a session of a real Slurm, replayed in any order on machines without one."""

import json
import re

import pytest

from course.clusters import slurm
from course.clusters.slurm.recording import FILE
from course.core.errors import CourseError

STORY = slurm.Request(
    "src/resumable.py --steps 200", "torchrun", nodes=2, gpus=2, minutes=15, resume=True
)


def test_the_recorded_cluster_has_nodes_jobs_and_a_reservation(recorded):
    assert [(node.name, node.gpus, node.up) for node in recorded.nodes()] == [
        (f"node{i}", 4, True) for i in (1, 2, 3)
    ]
    users = {job.user for job in recorded.jobs()}
    assert {"ana", "ben", "chi", "dan"} <= users
    assert [r.name for r in recorded.reservations()] == ["lecture"]
    table = recorded.holders().set_index("user")
    assert table.loc["ana", "state"] == "running" and table.loc[
        "ana", "ends, or starts"
    ].startswith("in ")
    assert table.loc["chi", "why it waits"]


def test_the_recorded_job_waits_loses_a_node_is_told_to_stop_and_each_time_goes_on(
    recorded, capsys, monkeypatch
):
    monkeypatch.setattr(
        "course.notebook.displays.display",
        lambda *args, **kwargs: type("Area", (), {"update": print})(),
    )
    job = recorded.submit(STORY)
    assert job.now.state == "PENDING"
    with pytest.raises(CourseError, match=f"Job {job.number} has no log yet: it waits, since"):
        job.log()
    end = job.follow()
    assert (end.state, end.restarts, end.exit_code) == ("COMPLETED", 2, 0)
    output = capsys.readouterr().out
    ran = re.findall(r"runs on (node\d), (node\d)", output)
    assert len(dict.fromkeys(ran)) == 2 and "node2" in ran[0] and "node2" not in ran[-1]
    log = job.log()
    begun = [int(step) for step in re.findall(r"4 ranks, from step (\d+)", log)]
    assert begun[0] == 0 and begun[1] in range(20, 200, 20)
    steps = job.metrics.query("rank == 0")["step"].tolist()
    assert max(steps) == 200 and steps.count(begun[1] + 1) == 2
    stop = log.index(f"told to stop, saved after step {begun[2]}\n")
    assert stop < log.index(f"4 ranks, from step {begun[2]}\n")
    assert steps.count(begun[2]) == steps.count(begun[2] + 1) == 1  # no step is lost
    assert job.curves().startswith("<svg")
    history = recorded.history()
    assert history.loc[job.number, ["State", "Restarts"]].tolist() == ["COMPLETED", 2]
    # The node was his, too; he asked for no more.
    his = history.query("User == 'ben'")
    assert his[["State", "ExitCode"]].to_numpy().tolist() == [["NODE_FAIL", "0:0"]]


def test_a_recorded_job_can_be_cancelled_and_the_story_told_in_any_order(recorded):
    wide = recorded.submit(
        slurm.Request("src/resumable.py", "torchrun", nodes=3, gpus=4, minutes=60, name="wide")
    )
    assert wide.follow(limit=3, show=False).state == "PENDING"
    wide.cancel()
    assert wide.now.state == "CANCELLED"
    assert (
        recorded.submit(STORY).now.state == "PENDING"
    )  # the clock has gone back to that submission


def test_what_was_not_recorded_takes_a_real_slurm(recorded):
    with pytest.raises(CourseError, match="and `sbatch --parsable other` is not in it"):
        recorded.submit(slurm.Request("src/other.py"))
    with pytest.raises(CourseError, match="This is a recording"):
        recorded.reserve("mine", "node1", "now+1hour", 10)
    with pytest.raises(CourseError, match="knows no job 999"):
        recorded.job(999).now  # noqa: B018


def test_the_recorded_tasks_have_the_variables_that_the_exercise_needs():
    first, last = slurm.recorded_tasks()
    assert (
        first["SLURM_PROCID"],
        last["SLURM_PROCID"],
        last["SLURM_LOCALID"],
        last["SLURM_NODEID"],
    ) == (
        "0",
        "3",
        "1",
        "1",
    )
    assert first["SLURM_JOB_NODELIST"] == last["SLURM_JOB_NODELIST"] == "node[1-2]"


def test_the_recording_holds_nothing_of_the_machine_that_made_it():
    text = FILE.read_text()
    paths = set(re.findall(r"/(?:home|root|tmp|work)/[\w./-]+", text))
    assert all(
        path.startswith("/home/you/") or path.startswith("/tmp/course-slurm-") for path in paths
    ), paths
    for line in text.splitlines()[2:]:
        assert set(json.loads(line)) <= {"at", "key", "text", "error"}
