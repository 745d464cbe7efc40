"""The launcher's own part: how many GPUs the ranks use, and which arguments are the script's."""

import os
import signal
import subprocess
import sys
import tempfile
from argparse import Namespace
from types import SimpleNamespace

import pytest
from support.fake_nvml import FakeNvml
from support.machines import Notes, machine
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.subprocess_handler import SubprocessHandler
from torch.distributed.elastic.rendezvous import dynamic_rendezvous

from course import hardware
from course.core import CourseError
from course.hardware.gpus import VARIABLE
from course.launch import channel, launcher

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def threads_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """At first OMP_NUM_THREADS is not set; what the launcher sets does not outlive the test."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("OMP_NUM_THREADS")


def on(monkeypatch: pytest.MonkeyPatch, gpus: int, visible: str | None = None, **others) -> None:
    """Have the launcher run on a machine of 8 cores with that many GPUs."""
    here = machine(FakeNvml(*["A"] * gpus), visible, cores=8, **others)
    monkeypatch.setattr(hardware.Machine, "here", lambda: here)
    monkeypatch.setenv(VARIABLE, "as it was" if visible is None else visible)


def too_few(count: int, gpus: str) -> list[str]:
    """The note for a run with more ranks than GPUs."""
    why = "NCCL needs one for each, so they run on the CPU with Gloo."
    return [f"{count} ranks on a machine with {gpus}: {why}"]


@pytest.mark.parametrize(
    ("gpus", "visible", "count", "used", "message"),
    [
        (0, None, 4, 0, []),
        (1, None, 1, 1, []),
        (1, None, 4, 0, too_few(4, "1 GPU")),
        (2, None, 4, 0, too_few(4, "2 GPUs")),
        (4, None, 4, 4, []),
        (8, None, 2, 2, []),
        (8, "4,5,6,7", 4, 4, []),
        (8, "4,5,6,7", 5, 0, too_few(5, "4 GPUs")),
        (8, "GPU-6666,GPU-1111", 2, 2, []),
        (8, "GPU-6666,GPU-1111", 3, 0, too_few(3, "2 GPUs")),
    ],
)
def test_a_gpu_for_every_rank_or_for_none(monkeypatch, gpus, visible, count, used, message) -> None:
    on(monkeypatch, gpus, visible)
    before, notes = os.environ[VARIABLE], Notes()
    assert launcher._prepare(notes, count) == used
    assert notes == message
    assert os.environ[VARIABLE] == ("" if message else before)
    assert os.environ["OMP_NUM_THREADS"] == str(8 // count)


def test_gpus_that_torch_cannot_use_are_hidden_from_a_script_that_counts_them(monkeypatch) -> None:
    on(monkeypatch, 2, torch_cuda="14.0")  # later than the driver's
    assert launcher._prepare(Notes(), 2) == 0
    assert os.environ[VARIABLE] == ""


def test_gpus_asked_for_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpu_count", lambda: 0)
    message = "This machine has no GPU that can be used: give --nproc-per-node a number"
    with pytest.raises(SystemExit, match=message):
        launcher._requested_gpus("gpu")
    assert launcher._requested_gpus("2") is None
    monkeypatch.setattr(hardware, "gpu_count", lambda: 3)
    assert launcher._requested_gpus("gpu") == 3


def accelerated(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[list[str], Notes]:
    """The command line with which accelerate itself is called, and the notes for the learner."""
    from accelerate.commands import accelerate_cli, launch

    monkeypatch.setattr(launcher, "_require_script", lambda script: None)
    monkeypatch.setattr(accelerate_cli, "main", lambda: None)
    monkeypatch.setattr(launch, "simple_launcher", None)
    monkeypatch.setattr(torchrun, "run", torchrun.run)
    monkeypatch.setattr(launcher.loopback, "restrict_to_loopback", lambda: None)
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.setenv("ACCELERATE_USE_CPU", "")
    notes = Notes()
    launcher._accelerate(notes, ["launch", *words])
    assert isinstance(launch.launch_command_parser().parse_args(sys.argv[2:]), Namespace)
    return sys.argv, notes


@pytest.mark.parametrize(
    ("gpus", "options", "on_cpu", "threads"),
    [
        (0, ("--num_processes", "1"), False, 8),  # accelerate finds out by itself
        (0, ("--num_processes", "2"), True, 4),
        (1, ("--num_processes", "1"), False, 8),
        (1, ("--num_processes", "2"), True, 4),
        (2, ("--num_processes", "2"), False, 4),
        (2, ("--num_processes", "4"), True, 2),
        (2, ("--num_processes", "4", "--num_machines", "2"), False, 4),
        (4, (), False, 2),
        (2, ("--cpu", "--num_processes", "2"), True, 4),
    ],
)
def test_accelerate_has_a_gpu_for_every_rank_or_for_none(
    monkeypatch, gpus, options, on_cpu, threads
) -> None:
    on(monkeypatch, gpus)
    argv, notes = accelerated(monkeypatch, *options, "train.py")
    assert os.environ["ACCELERATE_USE_CPU"] == ("1" if on_cpu else "")
    assert ("--multi_gpu" in argv) is on_cpu
    assert any("in a terminal: ACCELERATE_USE_CPU=1" in note for note in notes) is on_cpu
    assert os.environ["OMP_NUM_THREADS"] == str(threads)


def test_accelerate_leaves_the_scripts_own_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `--cpu` after the script is the script's."""
    on(monkeypatch, 0)
    words = ["--cpu", "--num_processes", "2", "train.py", "--cpu", "a b"]
    argv, _ = accelerated(monkeypatch, *words)
    assert argv[-3:] == ["train.py", "--cpu", "a b"] and argv.count("--cpu") == 1
    assert argv[:3] == ["accelerate", "launch", "--multi_gpu"]


@pytest.mark.parametrize(
    ("options", "standalone", "port"), [((), True, None), (("--main_process_port", "1"), False, 1)]
)
def test_only_a_port_that_was_named_is_chosen_before_it_is_taken(
    monkeypatch, options, standalone, port
) -> None:
    """Another run may take a port that is chosen first and taken later; a store's own is held."""
    from accelerate.commands import accelerate_cli

    on(monkeypatch, 0)
    main, calls = accelerate_cli.main, []
    accelerated(monkeypatch, *options, "--num_processes", "2", "train.py")
    monkeypatch.setattr(dynamic_rendezvous, "_delay", dynamic_rendezvous._delay)
    monkeypatch.setattr(torchrun, "run", calls.append)
    launcher._accelerate(Notes(), ["launch", *options, "--num_processes", "2", "train.py"])
    main()
    (args,) = calls
    assert args.standalone is standalone and args.nproc_per_node == "2"
    assert standalone or int(args.master_port) == port


def test_a_rank_that_has_just_ended_and_was_reaped_can_still_be_closed() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    handler = Namespace(proc=ended, _stdout=None, _stderr=None)
    with pytest.raises(ProcessLookupError):  # torch's own expects a child that is still there
        SubprocessHandler.close(handler, signal.SIGTERM)
    launcher._unless_ended(SubprocessHandler.close)(handler, signal.SIGTERM)


def launched(supervisor: channel.Channel, *words: str) -> None:
    """Be the launcher, up to its end."""
    launcher.serve(supervisor, [tempfile.gettempdir(), *words])


def test_a_missing_name_ends_the_launch_with_one_sentence(monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delattr(SubprocessHandler, "_popen")
    with pytest.raises(SystemExit, match=r"^torch .* has no SubprocessHandler\._popen"):
        launched(None, "torchrun", "--standalone", "nothing.py")


def test_ranks_that_start_beside_the_supervisor_are_told_of(monkeypatch) -> None:
    """This happens if torch has the name but no longer calls it."""
    on(monkeypatch, 0)
    ranks = SimpleNamespace(started=0, note=print)
    monkeypatch.setattr(launcher.preflight, "missing", lambda script: None)
    monkeypatch.setattr(torchrun, "run", lambda args: None)
    monkeypatch.setattr(dynamic_rendezvous, "_delay", dynamic_rendezvous._delay)
    monkeypatch.setattr(launcher.loopback, "restrict_to_loopback", lambda: None)
    words = ["--standalone", "--nproc-per-node", "2", "script.py"]
    with pytest.raises(CourseError, match="starts ranks in another way than by SubprocessHandler"):
        launcher._torchrun(ranks, words)
    ranks.started = 2
    launcher._torchrun(ranks, words)
