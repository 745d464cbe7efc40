"""On any machine, the course, its launcher, torch and a script agree where each rank computes."""

import os
import sys

import pytest
import torch
from support.fake_nvml import FakeNvml
from support.gpu_rules import THE_TEST
from support.machines import H100, Notes

from course import hardware
from course.clusters.nodes import nodes
from course.hardware import gpus
from course.hardware.gpus import VARIABLE
from course.launch import launcher

# How many GPUs the machine has, which of them its user may see, and as how many they count.
MACHINES = [
    (0, None, 0),
    (0, "0", 0),
    (1, None, 1),
    (1, "0", 1),
    (1, "", 0),
    (2, None, 2),
    (2, "1", 1),
    (2, "1,0", 2),
    (2, "0,7", 1),
    (2, "1,1", 0),
    (4, None, 4),
    (4, "2,3", 2),
    (4, "3,1,2", 3),
    (4, "GPU-3333,GPU-1111", 2),
    (4, "GPU-2222", 1),
    (4, "MIG-aa", 1),
    (4, "MIG-aa,MIG-bb", 1),
    (4, "-1", 0),
    (8, None, 8),
    (8, "7", 1),
]


# Cards with MIG on, by the number of their instances: NVML counts cards, CUDA shows one instance.
DIVIDED = [{0: 1, 1: 1}, {0: 2, 1: 0}, {1: 3}]


def uuids(count: int) -> list[str]:
    """The names of the GPUs of a machine."""
    return [FakeNvml().nvmlDeviceGetUUID(number) for number in range(count)]


def enter(
    monkeypatch: pytest.MonkeyPatch, count: int, variable: str | None, mig: dict | None = None
) -> None:
    """Pretend to be on this machine, with a torch built for CUDA that counts the GPUs itself."""
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(*[H100] * count, mig=mig))
    monkeypatch.setattr(hardware.machine, "torch_build", lambda: ("2.13.0", "13.0"))
    monkeypatch.setattr(torch.cuda, "_is_compiled", lambda: True)
    monkeypatch.setattr(torch.cuda, "_raw_device_count_nvml", lambda: count)
    monkeypatch.setattr(torch.cuda, "_raw_device_uuid_nvml", lambda: uuids(count))
    # NVML does not tell torch about MIG; CUDA's own count is 1, whatever the list.
    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", lambda: 1, raising=False)
    monkeypatch.setenv(VARIABLE, variable or "")
    if variable is None:
        monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def chosen(monkeypatch: pytest.MonkeyPatch, ranks: int) -> str:
    """The device that a script chooses on one of these ranks, by the test in every script."""
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(ranks))
    return "cuda" if eval(THE_TEST, {"os": os, "torch": torch}) else "cpu"


@pytest.mark.parametrize(("count", "variable", "seen"), MACHINES)
def test_all_count_the_same_gpus(monkeypatch, count, variable, seen):
    enter(monkeypatch, count, variable)
    assert hardware.gpu_count() == torch.cuda.device_count() == seen
    expected = ("cuda", "nccl") if seen > 1 else ("cpu", "gloo")
    assert (hardware.device(), hardware.backend()) == expected
    assert hardware.ranks() == seen or seen < 2


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize(("count", "variable", "seen"), MACHINES)
def test_a_cell_and_a_terminal_choose_the_same(monkeypatch, count, variable, seen, ranks):
    enter(monkeypatch, count, variable)
    in_terminal = chosen(monkeypatch, ranks)
    notes = Notes()
    used = launcher._prepare(notes, ranks)
    assert chosen(monkeypatch, ranks) == in_terminal == ("cuda" if seen >= ranks else "cpu")
    assert used == (ranks if in_terminal == "cuda" else 0)
    assert len(notes) == (0 < seen < ranks)


@pytest.mark.parametrize(("count", "variable", "seen"), MACHINES)
def test_where_the_labs_start_ranks_on_gpus_the_scripts_use_them(
    monkeypatch, count, variable, seen
):
    enter(monkeypatch, count, variable)
    for ranks in range(2, hardware.ranks() + 1):
        assert chosen(monkeypatch, ranks) == hardware.device()


@pytest.mark.parametrize("mig", DIVIDED)
def test_a_cell_knows_of_mig_and_a_terminal_once_an_instance_is_named(monkeypatch, mig):
    enter(monkeypatch, 2, None, mig)
    assert hardware.gpu_count() == 1 and chosen(monkeypatch, 2) == "cuda"  # the cards are counted
    assert "from a terminal" in hardware.Machine.here().nvidia.divided
    assert launcher._prepare(Notes(), 2) == 0 and chosen(monkeypatch, 2) == "cpu"
    enter(monkeypatch, 2, "MIG-aa", mig)
    assert hardware.gpu_count() == torch.cuda.device_count() == 1
    assert chosen(monkeypatch, 2) == "cpu"


@pytest.mark.parametrize("nodes_count", [2, 4])
@pytest.mark.parametrize(("count", "variable", "seen"), MACHINES)
def test_practice_nodes_share_the_gpus_that_their_user_may_see(
    monkeypatch, count, variable, seen, nodes_count
):
    enter(monkeypatch, count, variable)
    made = nodes.Nodes(nodes_count, loopback=True)
    try:
        devices = [made.environment(node)[VARIABLE] for node in range(nodes_count)]
    finally:
        made.close()
    dealt = [number for list_ in devices for number in gpus.visible(list_, uuids(count))[0]]
    assert len(dealt) == len(set(dealt)) == seen // nodes_count * nodes_count
    assert set(dealt) <= set(gpus.visible(variable, uuids(count))[0])
    for list_ in devices:
        enter(monkeypatch, count, list_)
        assert torch.cuda.device_count() == hardware.gpu_count() == seen // nodes_count
        for ranks in (1, 2):
            in_terminal = chosen(monkeypatch, ranks)
            launcher._prepare(Notes(), ranks)
            assert chosen(monkeypatch, ranks) == in_terminal
            assert in_terminal == ("cuda" if seen // nodes_count >= ranks else "cpu")
            monkeypatch.setenv(VARIABLE, list_)
