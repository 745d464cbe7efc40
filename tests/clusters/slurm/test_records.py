"""The output of Slurm's commands becomes records, in its old and in its new form."""

import pytest

from course.clusters.slurm import records, submitted


@pytest.mark.parametrize(
    ("hostlist", "names"),
    [
        ("", ()),
        ("(null)", ()),
        ("login", ("login",)),
        ("a,b", ("a", "b")),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("gpu[08-10,12],x", ("gpu08", "gpu09", "gpu10", "gpu12", "x")),
        ("r[1-2]n[3,5]", ("r1n3", "r1n5", "r2n3", "r2n5")),
        ("a[1]b,c", ("a1b", "c")),
    ],
)
def test_host_lists(hostlist, names):
    assert records.expand(hostlist) == names


OLD = {
    "job_id": 7,
    "name": "bert",
    "user_name": "ana",
    "partition": "train",
    "job_state": "RUNNING",
    "state_reason": "None",
    "nodes": "node[1-2]",
    "node_count": 2,
    "tres_per_node": "gres:gpu:2",
    "gres_detail": ["gpu:2(IDX:0-1)", "gpu:2(IDX:1,3)"],
    "submit_time": 100,
    "start_time": 110,
    "end_time": 710,
    "time_limit": 10,
    "restart_cnt": 1,
    "exit_code": 768,
    "standard_output": "/home/ana/runs/%x-%j.out",
}


def new(value: float, infinite: bool = False) -> dict:
    """A number in the form of Slurm 23.11 and later."""
    return {"set": True, "infinite": infinite, "number": value}


NEW = OLD | {
    "job_state": ["RUNNING"],
    "node_count": new(2),
    "tres_per_node": "gres/gpu:2",
    "gres_detail": ["gpu:h100:2(IDX:0-1)", "gpu:h100:2(IDX:1,3)"],
    "submit_time": new(100),
    "start_time": new(110),
    "end_time": new(710),
    "time_limit": new(10),
    "exit_code": {"status": ["ERROR"], "return_code": new(3)},
    "stdout_expanded": "/home/ana/runs/bert-7.out",
}


@pytest.mark.parametrize("record", [OLD, NEW], ids=["22.05", "24.11"])
def test_a_job_is_read_in_the_old_and_in_the_new_form(record):
    job = records.job(record)
    assert job.gpus == {"node1": (0, 1), "node2": (1, 3)}
    assert (job.state, job.node_count, job.gpus_per_node) == ("RUNNING", 2, 2)
    assert (job.exit_code, job.signal, job.restarts) == (3, 0, 1)
    assert (job.submitted, job.start, job.end, job.limit_minutes) == (100, 110, 710, 10)
    assert job.output == "/home/ana/runs/bert-7.out"


@pytest.mark.parametrize(
    "status",
    [9, {"status": ["SIGNALED"], "return_code": new(0), "signal": {"id": new(9), "name": "KILL"}}],
    ids=["22.05", "24.11"],
)
def test_the_signal_that_ended_a_job_is_read(status):
    job = records.job(OLD | {"exit_code": status, "job_state": "FAILED"})
    assert (job.exit_code, job.signal) == (0, 9)
    assert submitted.story(job, 0.0).endswith(", ended by signal 9")


def test_a_job_that_waits_has_no_nodes_and_may_have_no_limit():
    job = records.job(
        {
            "job_id": 8,
            "job_state": ["PENDING"],
            "state_reason": "Resources",
            "node_count": new(3),
            "tres_per_job": "gres/gpu:12",
            "time_limit": new(0, infinite=True),
        }
    )
    assert (job.nodes, job.gpus, job.gpus_per_node, job.limit_minutes) == ((), {}, 4, None)


def test_nodes_partitions_and_reservations_of_scontrol():
    text = (
        "NodeName=n1 Arch=x86_64 Gres=gpu:h100:8(S:0-1) OS=Linux 6.1 #1 SMP "
        "State=MIXED+DRAIN Partitions=a,b Reason=fan is loud [root@2026-11-21T08:00:00]\n"
    )
    (node,) = records.nodes(text)
    assert (node.gpus, node.partitions, node.up) == (8, ("a", "b"), False)
    assert node.reason.startswith("fan is loud")
    (partition,) = records.partitions(
        "PartitionName=a Default=YES MaxTime=1-12:30:00 Nodes=n[1-2] State=UP\n"
    )
    assert (partition.default, partition.nodes) == (True, ("n1", "n2"))
    assert partition.max_minutes == 36 * 60 + 30
    assert records.partitions("PartitionName=b MaxTime=UNLIMITED Nodes=n1\n")[0].max_minutes is None
    text = (
        "ReservationName=r StartTime=1000 EndTime=2000 Nodes=n1 Flags= TRES=cpu=4 Users=ana "
        "State=INACTIVE\n"
    )
    (reservation,) = records.reservations(text)
    assert (reservation.name, reservation.users) == ("r", "ana")
    assert (reservation.start, reservation.end) == (1000, 2000)
    assert records.reservations("No reservations in the system\n") == []
