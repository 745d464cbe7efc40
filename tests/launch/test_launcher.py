"""The launcher's own part: how many GPUs the ranks use, and which arguments are the script's."""

import os
import signal
import subprocess
import sys
from argparse import Namespace

import pytest
from torch.distributed.elastic.multiprocessing.subprocess_handler import SubprocessHandler

from course import hardware
from course.launch import launcher


class Notes(list):
    """What the launcher would tell the learner."""

    def note(self, text: str) -> None:
        self.append(text)


@pytest.fixture(autouse=True)
def threads_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """At first OMP_NUM_THREADS is not set; what the launcher sets does not outlive the test."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("OMP_NUM_THREADS")


@pytest.mark.parametrize(
    ("gpus", "count", "used", "said"),
    [
        (0, 4, 0, []),
        (1, 4, 0, ["4 ranks are more than 1 GPU: they run on the CPU with Gloo."]),
        (2, 4, 0, ["4 ranks are more than 2 GPUs: they run on the CPU with Gloo."]),
        (4, 4, 4, []),
        (8, 2, 8, []),
    ],
)
def test_more_ranks_than_gpus(
    monkeypatch: pytest.MonkeyPatch, gpus: int, count: int, used: int, said: list[str]
) -> None:
    monkeypatch.setattr(hardware, "gpu_count", lambda: gpus)
    monkeypatch.setattr(hardware, "cores", lambda: 8)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "all")
    notes = Notes()
    assert launcher._prepare(notes, count) == used
    assert notes == said
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ("" if said else "all")
    assert os.environ["OMP_NUM_THREADS"] == str(8 // count)


def test_gpus_asked_for_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpu_count", lambda: 0)
    said = "This box has no GPU that can be used: give --nproc-per-node a number"
    with pytest.raises(SystemExit, match=said):
        launcher._need_gpus("gpu")
    assert launcher._need_gpus("2") is None
    monkeypatch.setattr(hardware, "gpu_count", lambda: 3)
    assert launcher._need_gpus("gpu") == 3


def test_accelerate_leaves_the_scripts_own_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `--cpu` after the script is the script's."""
    from accelerate.commands import accelerate_cli, launch

    monkeypatch.setattr(launcher, "_need_script", lambda script: None)
    monkeypatch.setattr(hardware, "gpu_count", lambda: 0)
    monkeypatch.setattr(accelerate_cli, "main", lambda: None)
    monkeypatch.setattr(launch, "simple_launcher", None)
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.setenv("ACCELERATE_USE_CPU", "")
    words = ["launch", "--cpu", "--num_processes", "2", "train.py", "--cpu", "a b"]
    launcher._accelerate(Notes(), words)
    assert sys.argv[-3:] == ["train.py", "--cpu", "a b"] and sys.argv.count("--cpu") == 1
    assert sys.argv[:3] == ["accelerate", "launch", "--multi_gpu"]
    assert isinstance(launch.launch_command_parser().parse_args(sys.argv[2:]), Namespace)


def test_a_rank_that_has_just_ended_and_was_reaped_can_still_be_closed() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    handler = Namespace(proc=ended, _stdout=None, _stderr=None)
    with pytest.raises(ProcessLookupError):  # torch's own expects a child that is still there
        SubprocessHandler.close(handler, signal.SIGTERM)
    launcher._unless_ended(SubprocessHandler.close)(handler, signal.SIGTERM)
