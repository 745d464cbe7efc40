"""The GPUs of a machine, their links and what hides them, as NVML reports them."""

import pynvml
import pytest
import torch
from support.fake_nvml import FakeNvml
from support.machines import H100, NO_GPU, machine, put

from course.core.words import GIB
from course.hardware import gpus
from course.hardware.machine_card import Card

UUIDS = ["GPU-00aa", "GPU-00bb", "GPU-cc"]


def test_eight_gpus_on_a_switch():
    nvml = FakeNvml(*[H100] * 8, switched=18)
    here = machine(nvml)
    assert [link.kind for link in here.links] == ["NV18"] * 28
    assert (here.nvidia.driver, here.nvidia.driver_cuda) == ("580.65.06", (13, 0))
    assert here.gpus[7] == gpus.Gpu(7, 7, H100, 80 * GIB, 79 * GIB)
    assert nvml.open == 0, "NVML is left open"
    assert (
        "GPUs    8 × NVIDIA H100 80GB HBM3 (80 GiB), each pair connected by NVLink (NV18)"
        in repr(Card(here))
    )
    assert repr(Card(here)).endswith("Here the labs use 8 ranks, one per GPU, with NCCL.")


def test_links_of_a_mixed_machine():
    levels = {(0, 1): 10, (0, 2): 20, (0, 3): 30, (1, 2): 40, (1, 3): 50}
    here = machine(FakeNvml(*["A"] * 4, wires={(2, 3): 4}, levels=levels))
    kinds = {(link.first, link.second): link.kind for link in here.links}
    assert kinds == {
        (0, 1): "PIX",
        (0, 2): "PXB",
        (0, 3): "PHB",
        (1, 2): "NODE",
        (1, 3): "SYS",
        (2, 3): "NV4",
    }
    assert "1 of 6 pairs by NVLink (NV4)" in gpus.links_in_words(here.links)
    assert "1 of 6 pairs by PCIe and the link between CPU sockets (SYS)" in gpus.links_in_words(
        here.links
    )


def test_a_driver_that_knows_little_still_shows_its_gpus():
    calls = [
        name for name in dir(FakeNvml) if name.startswith("nvmlDeviceGet") and "Count" not in name
    ]
    here = machine(
        FakeNvml("A", "A", unsupported=[name for name in calls if "HandleByIndex" not in name])
    )
    assert [link.kind for link in here.links] == ["?"]
    assert here.gpus[1] == gpus.Gpu(1, 1, "NVIDIA GPU", None, None)
    assert "2 × NVIDIA GPU, the pair connected by a link that the driver does not tell" in repr(
        Card(here)
    )


def test_numbers_of_visible_gpus_are_those_of_cuda():
    here = machine(FakeNvml(*"ABCD", wires={(1, 3): 2}), visible="3,1")
    assert [(gpu.index, gpu.nvml_index, gpu.name) for gpu in here.gpus] == [
        (0, 3, "D"),
        (1, 1, "B"),
    ]
    assert here.links == (gpus.Link(0, 1, "NV2"),)
    assert here.nvidia.installed == 4


@pytest.mark.parametrize(
    ("variable", "shown"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("2,0", [2, 0]),
        (" 1 , 0", [1, 0]),
        ("1gpu", [1]),
        ("0,2,-1,1", [0, 2]),
        ("0,", [0]),
        ("GPU-c", [2]),
        ("GPU-00bb,GPU-00a", [1, 0]),
    ],
)
def test_visible_as_cuda_and_torch_read_it(monkeypatch, variable, shown):
    assert gpus.visible(variable, UUIDS) == (shown, None)
    assert torch_counts(monkeypatch, variable) == len(shown)


@pytest.mark.parametrize(
    ("variable", "shown", "says"),
    [
        ("0,3,1", [0], "CUDA ignores '3' and all entries after it"),
        ("all", [], "CUDA ignores 'all' and all entries after it"),
        ("GPU-00", [], "this machine has GPUs 0 to 2, so CUDA ignores 'GPU-00'"),
        ("1,1", [], "names GPU 1 twice, so CUDA shows none"),
    ],
)
def test_invalid_entries_are_reported(monkeypatch, variable, shown, says):
    numbers, problem = gpus.visible(variable, UUIDS)
    assert numbers == shown and says in problem
    assert torch_counts(monkeypatch, variable) == len(shown)


def torch_counts(monkeypatch, variable):
    """The number of GPUs that torch counts before CUDA starts: it asks NVML, as we do."""
    monkeypatch.setattr(torch.cuda, "_raw_device_count_nvml", lambda: len(UUIDS))
    monkeypatch.setattr(torch.cuda, "_raw_device_uuid_nvml", lambda: UUIDS)
    if variable is None:
        monkeypatch.delenv(gpus.VARIABLE, raising=False)
    else:
        monkeypatch.setenv(gpus.VARIABLE, variable)
    return torch.cuda._device_count_nvml()


def test_mig_instances():
    one = machine(FakeNvml("A MIG 1g.10gb"), visible="MIG-aa,MIG-bb").nvidia
    assert len(one.gpus) == 1 and "2 MIG instances, and the labs can use only one" in one.hidden
    none = machine(FakeNvml("A"), visible="MIG-zz").nvidia
    assert none.gpus == () and "MIG-zz names no MIG instance" in none.hidden
    assert machine(FakeNvml("A"), visible="MIG-aa").nvidia.hidden is None


ONE_OF_THEM = "the labs can use only one of the instances: `export CUDA_VISIBLE_DEVICES=MIG-"
OR_THE_WHOLE = "lists them), `export CUDA_VISIBLE_DEVICES=0` the GPUs that are whole, and do so"
NO_INSTANCE = (
    "there is no instance to compute on: if the machine is yours, `sudo nvidia-smi -mig 0`"
)


@pytest.mark.parametrize(
    ("mig", "visible", "shown", "says"),
    [
        ({0: 1}, "0", ["A MIG 1g.10gb"], None),
        ({0: 2}, "0", ["A MIG 1g.10gb"], ONE_OF_THEM),
        ({0: 1, 1: 1}, None, ["A MIG 1g.10gb"], ONE_OF_THEM),
        ({1: 2}, None, ["B MIG 1g.10gb"], ONE_OF_THEM),
        ({1: 2}, None, ["B MIG 1g.10gb"], OR_THE_WHOLE),
        ({1: 2}, "0", ["A"], None),
        ({1: 0}, None, ["A"], NO_INSTANCE),
        ({0: 0, 1: 0}, None, [], NO_INSTANCE),
    ],
)
def test_the_labs_use_one_instance_of_divided_gpus_and_nothing_beside_it(mig, visible, shown, says):
    here = machine(FakeNvml("A", "B", mig=mig), visible=visible)
    assert [gpu.name for gpu in here.gpus] == shown and here.usable_gpus == len(shown)
    assert here.nvidia.hidden is None and here.nvidia.installed == 2
    assert here.nvidia.divided is None if says is None else says in here.nvidia.divided


def test_a_machine_whose_divided_gpus_show_nothing_says_so():
    here = machine(FakeNvml("A", mig={0: 0}))
    assert repr(Card(here)).endswith("Gloo (MIG is on and has no instance to compute on).")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "This machine has 2 NVIDIA GPUs but no driver"),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "sudo modprobe nvidia"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "restart the machine"),
        (pynvml.NVML_ERROR_UNKNOWN, "`nvidia-smi` should say more"),
    ],
)
def test_why_the_driver_does_not_answer(tmp_path, code, says):
    for card, kind in {
        "0000:01:00.0": "0x030000",
        "0000:02:00.0": "0x030200",
        "0000:02:00.1": "0x040300",
    }.items():
        put(tmp_path, f"sys/bus/pci/devices/{card}/vendor", "0x10de\n")
        put(tmp_path, f"sys/bus/pci/devices/{card}/class", f"{kind}\n")
    here = machine(FakeNvml(refusal=code), root=tmp_path)
    assert says in here.nvidia.failure and here.nvidia.installed == 2
    assert "2 installed, none to use" in repr(Card(here))
    assert repr(Card(here)).endswith(
        "Here the labs use 4 ranks on the CPU with Gloo (the NVIDIA driver does not answer)."
    )


def test_no_gpu_is_no_fault():
    here = machine(FakeNvml(**NO_GPU))
    assert here.nvidia == gpus.Gpus()
    assert repr(Card(here)).endswith("Here the labs use 4 ranks on the CPU with Gloo.")


def test_an_error_while_reading_is_reported_and_nvml_closed():
    nvml = FakeNvml("A", unsupported=["nvmlDeviceGetCount"])
    assert "`nvidia-smi` should say more" in machine(nvml).nvidia.failure
    assert nvml.open == 0
