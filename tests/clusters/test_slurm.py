"""Slurm without Slurm: the files, what its commands say in both forms, the recording, the board, the form.

What takes a real Slurm is in test_slurm_live.py.
"""

import json
import re
import subprocess

import pytest

from course.clusters import slurm
from course.clusters.slurm import board, commands, reasons, records
from course.clusters.slurm.practice_cluster import Practice, obstacle
from course.clusters.slurm.recording import FILE, Recording
from course.core.errors import CourseError

# -- the file ----------------------------------------------------------------------------------------------------------

BOUNDED = {name: {"nodes": 1} for name, how in slurm.STRATEGIES.items() if how.most_nodes == 1} | {
    "single": {"nodes": 1, "gpus": 1}
}


def request_for(strategy: str, **more) -> slurm.Request:
    return slurm.Request(
        "src/train.py --epochs 3",
        strategy,
        **{"nodes": 2, "gpus": 4, **BOUNDED.get(strategy, {}), **more},
    )


@pytest.mark.parametrize("strategy", slurm.STRATEGIES)
@pytest.mark.parametrize("resume", [False, True])
def test_every_file_is_shell_that_parses_and_asks_for_what_was_asked(strategy, resume, tmp_path):
    request = request_for(strategy, resume=resume, partition="train", minutes=95, cores_per_gpu=3)
    text = request.text()
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    assert text.startswith("#!/bin/bash\n")
    for option in (
        "--partition=train",
        f"--nodes={request.nodes}",
        f"--gpus-per-node={request.gpus}",
        "--time=01:35:00",
    ):
        assert f"#SBATCH {option}\n" in text
    assert ("#SBATCH --requeue\n" in text) == resume
    assert "src/train.py --epochs 3" in text
    tasks = int(re.search(r"--ntasks-per-node=(\d+)", text)[1])
    assert tasks * int(re.search(r"#SBATCH --cpus-per-task=(\d+)", text)[1]) == 3 * request.gpus
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"nodes": 0}, "nodes is a whole number from 1, not 0."),
        ({"gpus": True}, "gpus is a whole number from 1, not True."),
        ({"minutes": 1.5}, "minutes is a whole number from 1, not 1.5."),
        ({"strategy": "best"}, "There is no strategy 'best'; there are single, data_parallel, mirrored, ddp, sharded, "
         "parameter_server, accelerate, horovod."),
        ({"strategy": "mirrored", "nodes": 2}, "mirrored is a process for each GPU of one server: ask for 1 node, or "
         "choose another strategy."),
        ({"strategy": "single", "gpus": 2}, "single is one process on one GPU: ask for 1 node and 1 GPU, or choose "
         "another strategy."),
        ({"script": "train"}, "script is a Python file and its arguments, such as src/train.py, not 'train'."),
        ({"script": "it's.py"}, "script is a Python file and its arguments, such as src/train.py, not \"it's.py\"."),
        ({"partition": "a b"}, "partition is a word of letters, digits, '.', '_' and '-', not 'a b'."),
    ],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_one_sentence(wrong, why):
    with pytest.raises(CourseError) as refusal:
        slurm.Request(**{"script": "src/train.py", **wrong})
    assert str(refusal.value) == why


def test_quotes_in_the_scripts_arguments_reach_it_whole(tmp_path):
    text = slurm.Request("""src/train.py --name 'two words'""").text()
    command = text[text.index("bash -c ") :].replace("torchrun ", "echo ").replace("\\\n", " ")
    said = subprocess.check_output(["bash"], input=command, text=True)
    assert said.rstrip().endswith("src/train.py --name two words")


# -- what the commands say ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hostlist", "names"),
    [
        ("", ()), ("(null)", ()), ("login", ("login",)), ("a,b", ("a", "b")), ("n[1-3]", ("n1", "n2", "n3")),
        ("gpu[08-10,12],x", ("gpu08", "gpu09", "gpu10", "gpu12", "x")),
        ("r[1-2]n[3,5]", ("r1n3", "r1n5", "r2n3", "r2n5")), ("a[1]b,c", ("a1b", "c")),
    ],
)  # fmt: skip
def test_host_lists(hostlist, names):
    assert records.expand(hostlist) == names


OLD = {
    "job_id": 7, "name": "bert", "user_name": "ana", "partition": "train", "job_state": "RUNNING",
    "state_reason": "None", "nodes": "node[1-2]", "node_count": 2, "tres_per_node": "gres:gpu:2",
    "gres_detail": ["gpu:2(IDX:0-1)", "gpu:2(IDX:1,3)"], "submit_time": 100, "start_time": 110, "end_time": 710,
    "time_limit": 10, "restart_cnt": 1, "exit_code": 768, "standard_output": "/home/ana/runs/%x-%j.out",
}  # fmt: skip


def new(value: float, infinite: bool = False) -> dict:
    """A number as Slurm 23.11 and later write it."""
    return {"set": True, "infinite": infinite, "number": value}


NEW = OLD | {
    "job_state": ["RUNNING"], "node_count": new(2), "tres_per_node": "gres/gpu:2", "submit_time": new(100),
    "gres_detail": ["gpu:h100:2(IDX:0-1)", "gpu:h100:2(IDX:1,3)"], "start_time": new(110), "end_time": new(710),
    "time_limit": new(10), "exit_code": {"status": ["ERROR"], "return_code": new(3)},
    "stdout_expanded": "/home/ana/runs/bert-7.out",
}  # fmt: skip


@pytest.mark.parametrize("record", [OLD, NEW], ids=["22.05", "24.11"])
def test_a_job_is_read_in_the_old_and_in_the_new_form(record):
    job = records.job(record)
    assert job.gpus == {"node1": (0, 1), "node2": (1, 3)}
    assert (job.state, job.node_count, job.gpus_per_node, job.exit_code, job.restarts) == (
        "RUNNING",
        2,
        2,
        3,
        1,
    )
    assert (job.submitted, job.start, job.end, job.limit_minutes) == (100, 110, 710, 10)
    assert job.output == "/home/ana/runs/bert-7.out"


def test_a_job_that_waits_has_no_nodes_and_may_have_no_limit():
    job = records.job({"job_id": 8, "job_state": ["PENDING"], "state_reason": "Resources", "node_count": new(3),
                     "tres_per_job": "gres/gpu:12", "time_limit": new(0, infinite=True)})  # fmt: skip
    assert (job.nodes, job.gpus, job.gpus_per_node, job.limit_minutes) == ((), {}, 4, None)


def test_nodes_partitions_and_reservations_of_scontrol():
    text = (
        "NodeName=n1 Arch=x86_64 Gres=gpu:h100:8(S:0-1) OS=Linux 6.1 #1 SMP State=MIXED+DRAIN Partitions=a,b "
        "Reason=fan is loud [root@2026-11-21T08:00:00]\n"
    )
    (node,) = records.nodes(text)
    assert (node.gpus, node.partitions, node.up) == (8, ("a", "b"), False)
    assert node.reason.startswith("fan is loud")
    (partition,) = records.partitions(
        "PartitionName=a Default=YES MaxTime=1-12:30:00 Nodes=n[1-2] State=UP\n"
    )
    assert (partition.default, partition.nodes, partition.max_minutes) == (
        True,
        ("n1", "n2"),
        36 * 60 + 30,
    )
    assert records.partitions("PartitionName=b MaxTime=UNLIMITED Nodes=n1\n")[0].max_minutes is None
    text = "ReservationName=r StartTime=1000 EndTime=2000 Nodes=n1 Flags= TRES=cpu=4 Users=ana State=INACTIVE\n"
    (reservation,) = records.reservations(text)
    assert (reservation.name, reservation.start, reservation.end, reservation.users) == (
        "r",
        1000,
        2000,
        "ana",
    )
    assert records.reservations("No reservations in the system\n") == []


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition "
         "name specified\n", "This cluster has no such partition: `sinfo` lists them."),
        ("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
         "Slurm's controller does not answer: see `scontrol ping`."),
        ("sbatch: error: something new\n", "sbatch refused: sbatch: error: something new"),
        ("", "sbatch refused: it did not say why"),
    ],
)  # fmt: skip
def test_what_slurm_complains_about_becomes_one_sentence(said, sentence):
    assert commands.meaning("sbatch", said) == sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (89, "89 s"),
        (90, "2 min"),
        (3600, "60 min"),
        (7300, "2 h 2 min"),
        (90 * 3600, "3 d 18 h"),
    ],
)
def test_spans_of_time(seconds, text):
    assert reasons.span(seconds) == text


# -- without Slurm -----------------------------------------------------------------------------------------------------


class Nothing(commands.Tools):
    """A box without Slurm."""

    def __init__(self) -> None:
        super().__init__()
        self._env["PATH"] = "/nonexistent"


def test_without_slurm_there_is_one_sentence_and_a_recording():
    with pytest.raises(
        CourseError, match="There is no Slurm on this box \\(scontrol is not installed\\)"
    ):
        Nothing().run("scontrol", "ping")
    cluster = slurm.connect(Nothing)
    assert isinstance(cluster.tools, Recording)
    assert repr(cluster).startswith("Recorded on ")


def test_slurms_commands_without_a_configuration_are_no_slurm(tmp_path):
    for program in ("scontrol", "squeue"):
        (tmp_path / program).write_text(
            "#!/bin/sh\necho 'fatal: Unable to process configuration file' >&2\nexit 1\n"
        )
        (tmp_path / program).chmod(0o755)

    class Unconfigured(commands.Tools):
        def __init__(self) -> None:
            super().__init__()
            self._env["PATH"] = str(tmp_path) + ":/usr/bin:/bin"

    with pytest.raises(CourseError, match="this box is not part of a cluster"):
        Unconfigured().run("squeue", "--json")
    assert slurm.connect(Unconfigured).tools.recorded


def test_a_command_that_does_not_answer_is_said(tmp_path, monkeypatch):
    (tmp_path / "squeue").write_text("#!/bin/sh\nexec sleep 30\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setattr(commands, "ANSWER_S", 0.2)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(CourseError, match=r"squeue did not answer within 0\.2 s"):
        commands.Tools().run("squeue", "--json")


def test_where_there_can_be_no_practice_cluster_one_sentence_says_why(monkeypatch):
    monkeypatch.setattr("course.clusters.slurm.practice_cluster._which", lambda program: None)
    assert obstacle().startswith("munged is not installed (apt-get install")
    with pytest.raises(
        CourseError, match="There is no practice cluster here: munged is not installed"
    ):
        Practice()


# -- the recording -----------------------------------------------------------------------------------------------------

STORY = slurm.Request(
    "src/resumable.py --steps 200", "ddp", nodes=2, gpus=2, minutes=15, resume=True
)


@pytest.fixture
def recorded() -> slurm.Cluster:
    return slurm.connect(Nothing)


def test_the_recorded_cluster_has_nodes_jobs_and_a_reservation(recorded):
    assert [(node.name, node.gpus, node.up) for node in recorded.nodes()] == [
        (f"node{i}", 4, True) for i in (1, 2, 3)
    ]
    users = {job.user for job in recorded.jobs()}
    assert {"ana", "ben", "chi", "dan"} <= users
    assert [r.name for r in recorded.reservations()] == ["lecture"]
    table = recorded.holders().set_index("user")
    assert table.loc["ana", "state"] == "running" and table.loc[
        "ana", "frees, or starts"
    ].startswith("in ")
    assert table.loc["chi", "why it waits"]


def test_the_recorded_job_waits_runs_loses_a_node_and_goes_on_from_its_checkpoint(
    recorded, capsys, monkeypatch
):
    monkeypatch.setattr(
        "course.clusters.slurm.submitted.display",
        lambda *args, **kwargs: type("Area", (), {"update": print})(),
    )
    job = recorded.submit(STORY)
    assert job.now.state == "PENDING"
    with pytest.raises(CourseError, match=f"Job {job.number} has no log yet: it waits, since"):
        job.log()
    end = job.follow()
    assert (end.state, end.restarts, end.exit_code) == ("COMPLETED", 1, 0)
    said = capsys.readouterr().out
    ran = re.findall(r"runs on (node\d), (node\d)", said)
    assert len(dict.fromkeys(ran)) == 2 and "node2" in ran[0] and "node2" not in ran[-1]
    begun = [int(step) for step in re.findall(r"4 ranks, from step (\d+)", job.log())]
    assert begun[0] == 0 and begun[1] in range(20, 200, 20)
    steps = job.metrics.query("rank == 0")["step"].tolist()
    assert max(steps) == 200 and steps.count(begun[1] + 1) == 2
    assert job.curves().startswith("<svg")
    history = recorded.history()
    assert history.loc[job.number, ["State", "Restarts"]].tolist() == ["COMPLETED", 1]
    assert history.query("User == 'ben'")["State"].tolist() == [
        "FAILED"
    ]  # the node was his, too; he asked for no more


def test_a_recorded_job_can_be_cancelled_and_the_story_told_in_any_order(recorded):
    wide = recorded.submit(
        slurm.Request("src/resumable.py", "ddp", nodes=3, gpus=4, minutes=60, name="wide")
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


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"partition": "nope"}, "There is no partition 'nope' here: there is train (the default), debug."),
        ({"gpus": 5}, "No node of train has 5 GPUs (they have up to 4): ask for fewer a node."),
        ({"nodes": 4}, "train has 3 nodes with 1 GPU or more, not 4: ask for fewer nodes."),
        ({"minutes": 1441}, "Jobs in train may take 1440 minutes, not 1441: ask for less time, and resume from a "
         "checkpoint."),
        ({"partition": "debug", "nodes": 2}, "debug has 1 node with 1 GPU or more, not 2: ask for fewer nodes."),
        ({"reservation": "mine"}, "There is no reservation 'mine'; there is lecture."),
    ],
)  # fmt: skip
def test_what_the_cluster_can_never_run_is_said_before_it_is_submitted(recorded, wrong, why):
    with pytest.raises(CourseError) as refusal:
        recorded.submit(slurm.Request("src/resumable.py", **wrong))
    assert str(refusal.value) == why


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


# -- board and form ----------------------------------------------------------------------------------------------------


def test_the_board_shows_who_holds_what_and_until_when(recorded):
    picture = recorded.board()
    assert picture.startswith("<svg") and "GPUs are held" in picture
    for words in ("ana: vision", "reserved: ana", "Recorded on", "node3"):
        assert words in picture
    assert "waiting: chi: large_model, 3 nodes × 4 GPUs, to start in" in picture


def test_a_board_of_a_large_cluster_shows_the_first_nodes_and_says_so():
    nodes = [records.Node(f"n{i}", "IDLE", 8, ("p",)) for i in range(100)]
    picture = board.live(nodes, [], [], now=0)
    assert "and 92 more nodes" in picture and "0 of 800 GPUs are held" in picture


def test_a_node_that_is_out_says_why():
    nodes = [
        records.Node("n1", "DOWN+DRAIN", 2, ("p",), "a fan"),
        records.Node("n2", "IDLE", 2, ("p",)),
    ]
    picture = board.live(nodes, [], [], now=0)
    assert "out: a fan" in picture and "0 of 2 GPUs are held" in picture


def test_the_form_shows_the_file_and_refuses_what_cannot_run(recorded):
    form = slurm.form(recorded, script="src/resumable.py", nodes=2, gpus=2)
    assert "#SBATCH --nodes=2" in form._file.value and not form._button.disabled
    form.controls["nodes"].value = 3
    assert "#SBATCH --nodes=3" in form._file.value
    form.controls["nodes"].value = 4
    assert "train has 3 nodes" in form._said.value and form._button.disabled
    form.controls["strategy"].value = "single"
    assert "ask for 1 node and 1 GPU" in form._said.value
    form.controls["strategy"].value, form.controls["nodes"].value = "ddp", 2
    assert not form._button.disabled
    job = form.submit()
    assert job is form.job and f"job {job.number}" in form._said.value


def test_a_form_is_the_file_where_no_kernel_shows_it(recorded):
    shown = slurm.form(recorded, script="src/resumable.py")._repr_mimebundle_()
    assert shown["text/plain"].startswith("#!/bin/bash") and "#SBATCH" in shown["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in shown
