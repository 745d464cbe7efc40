"""The system counts the processes that it killed because memory had run out."""

from pathlib import Path

import pytest

from course.core import RUNS
from course.launch import out_of_memory
from course.launch.messages import RankEnded, RankStarted, Reason, RunEnded
from course.launch.run import Run
from course.notebook import run_ending


def test_the_count_of_the_group_before_that_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    group, mount = tmp_path / "proc" / "self" / "cgroup", tmp_path / "sys" / "fs" / "cgroup"
    assert out_of_memory.kills(tmp_path) == 0
    (tmp_path / "proc" / "vmstat").write_text("nr_free_pages 5\noom_kill 7\n")
    assert out_of_memory.kills(tmp_path) == 7
    group.write_text("0::/user/ana\n")
    assert out_of_memory.kills(tmp_path) == 7  # the group does not count
    (mount / "user" / "ana").mkdir(parents=True)
    (mount / "user" / "ana" / "memory.events").write_text("oom 3\noom_kill 2\n")
    assert out_of_memory.kills(tmp_path) == 2
    group.write_text("4:cpu,memory:/job\n0::/\n")
    (mount / "memory" / "job").mkdir(parents=True)
    control = mount / "memory" / "job" / "memory.oom_control"
    control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert out_of_memory.kills(tmp_path) == 1


@pytest.mark.parametrize(
    ("code", "kills", "reported"), [(-9, 1, True), (-9, 0, False), (1, 1, False)]
)
def test_a_rank_that_was_killed_is_told_with_the_evidence(
    code: int, kills: int, reported: bool
) -> None:
    run = Run(["torchrun", "script.py"], RUNS, memory_kills=kills)
    for event in (RankStarted(0, 1, 0.0), RankEnded(0, code), RunEnded(Reason.FINISHED, 1, 0)):
        run.take(event)
    shown = " ".join(run_ending.story(run, 5))
    assert ("the system killed 1 process because memory had run out" in shown) is reported
