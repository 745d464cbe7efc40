"""Nodes of one machine: agents that meet, limited links, faults, a dead node."""

import os
import signal
import socket
import subprocess
import threading
from pathlib import Path

import psutil
import pytest
from support.fake_nvml import FakeNvml
from support.machines import machine
from support.patience import PATIENCE_S, runs, until

from course import hardware
from course.clusters.nodes import network, nodes
from course.clusters.nodes.running import NodeEnvironment, RunningOnNodes
from course.core.errors import CourseError, Interrupted

pytestmark = [pytest.mark.slow, pytest.mark.rest, pytest.mark.usefixtures("warm_ranks")]

HELLO = """
import os, socket, time
from datetime import timedelta
import torch
import torch.distributed as dist
from course import log

dist.init_process_group("gloo", timeout=timedelta(seconds=int(os.environ.get("PATIENCE", 300))))
tensor = torch.ones(1 << 18)                                   # 1 MiB
for i in range(3):
    dist.barrier()
    start = time.perf_counter()
    dist.all_reduce(tensor)
    ms = (time.perf_counter() - start) * 1e3
    log(host=socket.gethostname(), ms=ms, agent=int(os.environ["GROUP_RANK"]))
print(f"{dist.get_rank()} {os.environ['LOCAL_RANK']} {dist.get_world_size()}", flush=True)
dist.barrier()
dist.destroy_process_group()
"""
TRAIN = """
import os, time
import torch
import torch.distributed as dist
from course import log

dist.init_process_group("gloo")
step = int(open("done").read()) if os.path.exists("done") else 0
print("from", step, flush=True)
while step < 30:
    dist.all_reduce(torch.ones(1))
    step += 1
    if dist.get_rank() == 0 and step % 5 == 0:
        with open("new", "w") as file: file.write(str(step))
        os.replace("new", "done")
    log(step=step, pid=os.getpid())
    while step == 12 and not os.path.exists("one is dead"):
        time.sleep(0.05)
dist.barrier()
dist.destroy_process_group()
"""
SLEEPS = """
import os, time
from course import log
log(pid=os.getpid())
while True: time.sleep(0.05)
"""
LOGS = """
import os, time
from course import log
while True:
    log(pid=os.getpid())
    time.sleep(0.05)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    """A folder with the scripts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hello.py").write_text(HELLO)
    (tmp_path / "train.py").write_text(TRAIN)


@pytest.fixture(params=[pytest.param("loopback", marks=pytest.mark.sampled), "namespaces"])
def two(request, start_nodes):
    """Two nodes."""
    return start_nodes(2, loopback=request.param == "loopback")


def torchrun(two: nodes.Nodes, *more: str, ranks: int = 1) -> str:
    words = [
        f"torchrun --nnodes 2 --nproc-per-node {ranks}",
        f"--rdzv-backend c10d --rdzv-id test --rdzv-endpoint {two.head}",
    ]
    return " ".join([*words, *more])


def test_agents_meet_and_number_the_ranks_of_all_nodes(two, capsys):
    run = two.run(f"{torchrun(two, ranks=2)} hello.py", limit=PATIENCE_S)
    assert run.ok
    assert run.exit_codes == dict.fromkeys(range(4), 0)
    assert [run.text(rank, "stdout").split() for rank in range(4)] == [
        [str(r), str(r % 2), "4"] for r in range(4)
    ]
    assert set(run.metrics["agent"]) == {0, 1}
    if two.real:
        assert set(run.metrics["host"]) == {"node0", "node1"}
    assert "rank 3" in capsys.readouterr().out


def test_one_agent_of_two_waits_and_the_limit_says_for_what(two, capsys):
    run = two.run(f"{torchrun(two)} hello.py", on=[0], limit=2, may_fail=True)
    assert (run.ok, run.reason) == (False, "limit")
    assert "before any rank was started" in capsys.readouterr().out


def test_a_failing_script_raises_unless_it_may_fail(two):
    with open("bad.py", "w") as file:
        file.write("import sys; sys.exit(3)")
    with pytest.raises(CourseError, match="failed on one of the nodes"):
        two.run(f"{torchrun(two)} bad.py", limit=PATIENCE_S)
    assert not two.run(f"{torchrun(two)} bad.py", limit=PATIENCE_S, may_fail=True).ok


def test_a_node_that_dies_and_comes_back_goes_on_from_the_checkpoint(two):
    patience = "--max-restarts 2 --rdzv-conf keep_alive_interval=2,keep_alive_max_attempt=4"
    env = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    running = two.start(f"{torchrun(two, patience)} train.py", limit=PATIENCE_S, env=env)
    running.until(step=12)
    doomed = [pid for pid, _ in running.launches[1].processes.values()]
    running.kill(1)
    assert doomed
    until(lambda: not any(map(runs, doomed)))
    Path("one is dead").touch()
    with pytest.raises(CourseError, match="node0 is running the command already"):
        running.restart(0)
    run = running.restart(1).finish()
    assert run.ok
    steps = run.metrics.query("rank == 0").sort_values("time")["step"].tolist()
    assert steps[-1] == 30
    begun = [
        int(line.split()[1]) for rank in (0, 1) for line in run.text(rank, "stdout").splitlines()
    ]
    assert sorted(set(begun)) == [0, 10]


def test_a_rank_without_its_supervisor_is_killed_and_not_the_process_that_adopted_it(monkeypatch):
    """The adopter is the warm server, without which every run of this process ends."""
    Path("logs.py").write_text(LOGS)
    running = RunningOnNodes(
        ["python", "logs.py"], {0: NodeEnvironment({}, None)}, on=[0], limit=10 * PATIENCE_S
    )
    running.until(pid=0)
    rank = psutil.Process(running.run.rows[0]["pid"])
    supervisor = rank.parent()
    adopter = psutil.Process(supervisor.ppid())
    goes_on, thread = threading.Event(), running._threads[0]
    put, join = running._events.put, thread.join
    monkeypatch.setattr(running._events, "put", lambda event: (goes_on.wait(), put(event)))
    monkeypatch.setattr(thread, "join", lambda timeout: (goes_on.set(), join()))
    adopter.suspend()  # or it would end the rank
    supervisor.kill()
    until(lambda: rank.ppid() == adopter.pid)
    running.kill(0)
    adopter.resume()
    until(lambda: not runs(rank.pid))
    assert psutil.wait_procs([adopter], timeout=1)[1] == [adopter]  # killed, it would be gone


def test_an_interrupt_ends_the_ranks_of_all_nodes(two, monkeypatch):
    with open("sleeps.py", "w") as file:
        file.write(SLEEPS)
    limit = 10 * PATIENCE_S  # the interrupt ends them, not this
    running = two.start(f"{torchrun(two)} sleeps.py", limit=limit)
    running.until(pid=0)
    while len({row["rank"] for row in running.run.rows}) < 2:
        running._take_event()
    pids = [row["pid"] for row in running.run.rows]
    assert len(pids) == 2

    take = running._events.get

    def interrupted(timeout: float) -> object:
        monkeypatch.setattr(running._events, "get", take)
        os.kill(os.getpid(), signal.SIGINT)
        return take(timeout=timeout)

    monkeypatch.setattr(running._events, "get", interrupted)
    with pytest.raises(Interrupted):
        running.finish()
    until(lambda: not any(map(runs, pids)))


@pytest.mark.parametrize(
    ("gpus", "visible", "count", "shares"),
    [
        (0, None, 2, ["", ""]),
        (1, None, 2, ["", ""]),
        (3, None, 2, ["0", "1"]),
        (8, None, 2, ["0,1,2,3", "4,5,6,7"]),
        (8, "4,5,6,7", 2, ["4,5", "6,7"]),
        (8, "7,2,5", 3, ["7", "2", "5"]),
        (8, "4,5,99,6", 2, ["4", "5"]),
        (8, "GPU-6666,GPU-1111", 2, ["GPU-6666", "GPU-1111"]),
        (8, "", 2, ["", ""]),
    ],
)
def test_the_nodes_divide_the_gpus_that_this_process_may_use(
    start_nodes, monkeypatch, gpus, visible, count, shares
):
    here = machine(FakeNvml(*["A"] * gpus), visible)
    monkeypatch.setattr(hardware.Machine, "here", lambda: here)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    made = start_nodes(count, loopback=True)
    devices = [made.environment(node)["CUDA_VISIBLE_DEVICES"] for node in range(count)]
    assert devices == shares


@pytest.mark.parametrize("count", [0, 9])
def test_too_few_and_too_many_nodes_are_refused(count):
    with pytest.raises(CourseError, match="1 to 8 nodes"):
        nodes.start(count)


def test_unknown_nodes_interfaces_and_rates_are_refused(start_nodes):
    two = start_nodes(2, loopback=True)
    with pytest.raises(CourseError, match="There is no node 2"):
        two.start("python hello.py", on=[2])
    with pytest.raises(CourseError, match="interfaces eth0 and fast0"):
        two.limit_links(100, interface="eth1")
    with pytest.raises(CourseError, match="more than 0 Mbit/s"):
        two.limit_links(0)
    assert "loopback" in repr(two)


def test_a_limited_link_costs_bytes_over_bandwidth_and_the_other_interface_is_free(start_nodes):
    two = start_nodes(2)
    two.limit_links(mbit=100)
    expected = 2**20 / (100e6 / 8) * 1e3  # each of two nodes sends 2 · 1/2 of a MiB: 84 ms

    def fastest(**env: str) -> float:
        run = two.run(f"{torchrun(two)} hello.py", limit=PATIENCE_S, env=env)
        return run.metrics["ms"].min()

    assert fastest() > expected * 0.9
    until(lambda: fastest(GLOO_SOCKET_IFNAME="fast0") < expected * 0.9)


def test_nccl_goes_through_the_virtual_cables(start_nodes):
    two = start_nodes(2)
    own = two.environment(1)
    assert (own["NCCL_NET"], own["NCCL_SOCKET_IFNAME"]) == ("Socket", "eth0")


def test_a_name_that_resolves_to_loopback_breaks_the_launch_and_can_be_put_right(start_nodes):
    two = start_nodes(2)
    two.resolve_own_name_to("127.0.1.1")
    env = {"PATIENCE": "12"}
    run = two.run(f"{torchrun(two)} hello.py", limit=PATIENCE_S, may_fail=True, env=env)
    assert not run.ok
    assert any("remote=[127.0.1.1]" in run.text(rank) for rank in (0, 1))
    two.resolve_own_name_to(None)
    assert two.run(f"{torchrun(two)} hello.py", limit=PATIENCE_S).ok


def test_closing_takes_the_namespaces_away_and_so_does_the_next_start_after_a_kill(start_nodes):
    two = start_nodes(2)
    mine = two.network.prefix
    assert mine in subprocess.check_output(["ip", "netns"], text=True)
    assert socket.gethostname() != "node0"  # this process stays where it is
    two.close()
    assert mine not in subprocess.check_output(["ip", "netns"], text=True)
    abandoned = "course4194305-dead-node0"  # of a process id beyond any
    subprocess.run(["ip", "netns", "add", abandoned], check=True)
    network.remove_abandoned()
    assert abandoned not in subprocess.check_output(["ip", "netns"], text=True)


def test_a_delay_is_made_or_refused_in_one_sentence(start_nodes):
    two = start_nodes(2)
    try:
        two.limit_links(delay_ms=20)
    except CourseError as error:
        assert "netem" in str(error)
    else:
        took = two.run(f"{torchrun(two)} hello.py", limit=PATIENCE_S).metrics["ms"].median()
        assert took > 40
    finally:
        two.close()
