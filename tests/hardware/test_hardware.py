"""What the course knows about a box, and what the labs make of it, on boxes that this one is not."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pynvml
import pytest
from support.fake_nvml import FakeNvml

from course.drawing import palette
from course.hardware import box, gpus, quotas
from course.hardware.box import GIB, Box, Card

H100 = "NVIDIA H100 80GB HBM3"
CPUINFO = "\n\n".join(  # 2 sockets of 2 cores of 2 threads
    f"processor\t: {cpu}\nmodel name\t: Test CPU 9000\nphysical id\t: {cpu // 2 % 2}\ncore id\t\t: {cpu % 2}"
    for cpu in range(8)
)


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def box(nvml=None, visible=None, torch_cuda="13.0", cores=16, root=Path("/nowhere")) -> Box:
    environ = {} if visible is None else {gpus.VARIABLE: visible}
    here = Box.here(nvml or FakeNvml(refusal=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND), environ, root)
    facts = {
        "cpu": "Test CPU",
        "cores": cores,
        "physical": cores,
        "machine_cores": cores,
        "memory": 64 * GIB,
    }
    return replace(
        here, memory_free=60 * GIB, torch_version="2.13.0", torch_cuda=torch_cuda, **facts
    )


def test_this_box_agrees_with_the_operating_system():
    here = Box.here()
    assert 1 <= here.physical <= here.cores <= len(os.sched_getaffinity(0)) <= here.machine_cores
    assert 0 < here.memory_free <= here.memory <= psutil.virtual_memory().total
    assert box.cores() == here.cores and box.ranks() == here.ranks
    assert box.device() == here.device and box.backend() == here.backend
    assert box.gpu_count() == here.usable_gpus


def test_asking_imports_no_torch():
    code = "import sys; from course import hardware; hardware.card()._repr_html_(); print('torch' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "False\n"
    )


def test_torch_build_is_what_torch_says():
    code = "import torch; print(torch.__version__, torch.version.cuda)"
    says = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert list(map(str, box.torch_build())) == says


@pytest.mark.parametrize(
    ("gpu_count", "torch_cuda", "cores", "ranks", "device", "backend"),
    [
        (0, "13.0", 1, 2, "cpu", "gloo"),
        (0, None, 3, 2, "cpu", "gloo"),
        (0, None, 4, 4, "cpu", "gloo"),
        (1, "13.0", 64, 4, "cpu", "gloo"),
        (1, "13.0", 2, 2, "cpu", "gloo"),
        (2, "13.0", 2, 2, "cuda", "nccl"),
        (8, "12.6", 2, 8, "cuda", "nccl"),
        (8, None, 64, 4, "cpu", "gloo"),
    ],
)
def test_what_the_labs_use(gpu_count, torch_cuda, cores, ranks, device, backend):
    here = box(FakeNvml(*[H100] * gpu_count), torch_cuda=torch_cuda, cores=cores)
    assert (here.ranks, here.device, here.backend) == (ranks, device, backend)


@pytest.mark.parametrize(
    ("built", "driver", "old"),
    [("13.0", 12080, True), ("12.6", 12020, False), ("12.6", 13000, False)],
)
def test_driver_runs_every_build_of_its_major_version_and_of_earlier_ones(built, driver, old):
    here = box(FakeNvml(H100, H100, cuda=driver), torch_cuda=built)
    assert here.driver_too_old is old
    assert here.usable_gpus == (0 if old else 2)
    assert ("built for CUDA 13.0 and the driver runs CUDA up to 12.8" in repr(Card(here))) is old


def test_eight_gpus_on_a_switch():
    nvml = FakeNvml(*[H100] * 8, switched=18)
    here = box(nvml)
    assert [link.kind for link in here.links] == ["NV18"] * 28
    assert (here.nvidia.driver, here.nvidia.driver_cuda) == ("580.65.06", (13, 0))
    assert here.gpus[7] == gpus.Gpu(7, 7, H100, 80 * GIB, 79 * GIB)
    assert nvml.open == 0, "NVML is left open"
    assert (
        "GPUs    8 × NVIDIA H100 80GB HBM3 (80 GiB), each pair connected by NVLink (NV18)"
        in repr(Card(here))
    )
    assert repr(Card(here)).endswith("Here the labs use 8 ranks, one a GPU, with NCCL.")


def test_links_of_a_mixed_box():
    levels = {(0, 1): 10, (0, 2): 20, (0, 3): 30, (1, 2): 40, (1, 3): 50}
    here = box(FakeNvml(*["A"] * 4, wires={(2, 3): 4}, levels=levels))
    kinds = {(link.first, link.second): link.kind for link in here.links}
    assert kinds == {
        (0, 1): "PIX",
        (0, 2): "PXB",
        (0, 3): "PHB",
        (1, 2): "NODE",
        (1, 3): "SYS",
        (2, 3): "NV4",
    }
    assert "1 of 6 pairs by NVLink (NV4)" in box.links(here)
    assert "1 of 6 pairs by PCIe and the link between CPU sockets (SYS)" in box.links(here)


def test_a_driver_that_knows_little_still_shows_its_gpus():
    asked = [
        name for name in dir(FakeNvml) if name.startswith("nvmlDeviceGet") and "Count" not in name
    ]
    here = box(
        FakeNvml("A", "A", unsupported=[name for name in asked if "HandleByIndex" not in name])
    )
    assert [link.kind for link in here.links] == ["?"]
    assert here.gpus[1] == gpus.Gpu(1, 1, "NVIDIA GPU", None, None)
    assert "2 × NVIDIA GPU, the pair connected by a link that the driver does not tell" in repr(
        Card(here)
    )


def test_numbers_of_visible_gpus_are_those_of_cuda():
    here = box(FakeNvml(*"ABCD", wires={(1, 3): 2}), visible="3,1")
    assert [(gpu.index, gpu.nvml_index, gpu.name) for gpu in here.gpus] == [
        (0, 3, "D"),
        (1, 1, "B"),
    ]
    assert here.links == (gpus.Link(0, 1, "NV2"),)
    assert here.nvidia.installed == 4


UUIDS = ["GPU-00aa", "GPU-00bb", "GPU-cc"]


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
def test_visible_as_cuda_reads_it(variable, shown):
    assert gpus.visible(variable, UUIDS) == (shown, None)


@pytest.mark.parametrize(
    ("variable", "shown", "says"),
    [
        ("0,3,1", [0], "CUDA ignores '3' and all entries after it"),
        ("all", [], "CUDA ignores 'all' and all entries after it"),
        ("GPU-00", [], "this machine has GPUs 0 to 2, so CUDA ignores 'GPU-00'"),
        ("1,1", [], "names GPU 1 twice, so CUDA shows none"),
    ],
)
def test_invalid_entries_are_reported(variable, shown, says):
    numbers, problem = gpus.visible(variable, UUIDS)
    assert numbers == shown and says in problem


def test_mig_instances():
    one = box(FakeNvml("A MIG 1g.10gb"), visible="MIG-aa,MIG-bb").nvidia
    assert (
        len(one.gpus) == 1
        and "2 MIG instances, but CUDA shows a process only the first" in one.hidden
    )
    none = box(FakeNvml("A"), visible="MIG-zz").nvidia
    assert none.gpus == () and "MIG-zz names no MIG instance" in none.hidden
    assert box(FakeNvml("A"), visible="MIG-aa").nvidia.hidden is None


def test_hidden_gpus_are_said_so():
    assert repr(Card(box(FakeNvml("A", "A"), visible=""))).endswith(
        "(CUDA_VISIBLE_DEVICES hides the GPUs)."
    )


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
    here = box(FakeNvml(refusal=code), root=tmp_path)
    assert says in here.nvidia.failure and here.nvidia.installed == 2
    assert "2 installed, none to use" in repr(Card(here))
    assert repr(Card(here)).endswith(
        "Here the labs use 4 ranks on the CPU with Gloo (the NVIDIA driver does not answer)."
    )


def test_no_gpu_is_no_fault():
    here = box(FakeNvml(refusal=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND))
    assert here.nvidia == gpus.Gpus()
    assert repr(Card(here)).endswith("Here the labs use 4 ranks on the CPU with Gloo.")


def test_an_error_while_reading_is_reported_and_nvml_closed():
    nvml = FakeNvml("A", unsupported=["nvmlDeviceGetCount"])
    assert "`nvidia-smi` should say more" in box(nvml).nvidia.failure
    assert nvml.open == 0


def test_one_gpu_says_why_the_ranks_are_on_the_cpu():
    assert "on the CPU with Gloo (ranks over NCCL need a GPU each, and there is one)" in repr(
        Card(box(FakeNvml("A")))
    )


def test_cpu_and_its_cores(tmp_path):
    put(tmp_path, "proc/cpuinfo", CPUINFO + "\n")
    assert quotas.cpu_name(tmp_path) == "Test CPU 9000"
    assert quotas.physical_cores(tmp_path, set(range(8))) == 4
    assert quotas.physical_cores(tmp_path, {0, 4}) == 1, "two threads of one core"
    assert quotas.physical_cores(tmp_path / "none", {0}) == 1


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        (
            {
                "sys/fs/cgroup/a/cpu.max": "max 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "200000 100000\n",
            },
            2,
        ),
        (
            {
                "sys/fs/cgroup/a/cpu.max": "100000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "200000 100000\n",
            },
            1,
        ),
        ({"sys/fs/cgroup/other/cpu.max": "100000 100000\n"}, None),
        ({}, None),
    ],
)
def test_cpu_quota_version_2(tmp_path, files, quota):
    put(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    for path, text in files.items():
        put(tmp_path, path, text)
    assert quotas.cpu_quota(tmp_path) == quota


@pytest.mark.parametrize(("us", "quota"), [("300000", 3), ("-1", None)])
def test_cpu_quota_version_1(tmp_path, us, quota):
    put(tmp_path, "proc/self/cgroup", "4:memory:/host/path\n1:cpu,cpuacct:/host/path\n0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", f"{us}\n")
    put(tmp_path, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
    assert quotas.cpu_quota(tmp_path) == quota


def test_quota_limits_the_cores(tmp_path):
    put(tmp_path, "proc/self/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu.max", "50000 100000\n")
    assert Box.here(FakeNvml(), {}, tmp_path).cores == 1


@pytest.mark.parametrize(
    ("names", "top"), [(("max", "current"), ""), (("limit_in_bytes", "usage_in_bytes"), "memory/")]
)
def test_memory_limit_of_a_container(tmp_path, names, top):
    put(tmp_path, "proc/self/cgroup", "0::/\n" if not top else "4:memory:/\n")
    for name, size in zip(names, (GIB, GIB // 2), strict=True):
        put(tmp_path, f"sys/fs/cgroup/{top}memory.{name}", f"{size}\n")
    put(tmp_path, f"sys/fs/cgroup/{top}memory.stat", f"anon 1\ninactive_file {GIB // 4}\n")
    assert quotas.memory(tmp_path) == (GIB, GIB * 3 // 4)


def test_memory_without_a_limit_is_the_machines(tmp_path):
    put(tmp_path, "proc/self/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    assert quotas.memory(tmp_path)[0] == psutil.virtual_memory().total


def test_card_in_a_notebook_is_white_and_escaped_and_shows_every_rank():
    page = Card(replace(box(FakeNvml("A", "A")), cpu="CPU <b>"))._repr_html_()
    assert f"background:{palette.CARD}" in page and f"color:{palette.INK}" in page
    assert "CPU &lt;b&gt;" in page and "<b>" not in page
    assert [page.count(f'title="rank {rank}"') for rank in range(3)] == [1, 1, 0]
    assert "Here the labs use 2 ranks, one a GPU, with NCCL." in page


def test_card_tells_threads_from_cores_and_parts_from_the_whole():
    here = replace(box(), cores=8, physical=4, machine_cores=64)
    assert "Test CPU, 8 hardware threads on 4 cores of the machine's 64" in repr(Card(here))
    assert "Test CPU, 16 cores\n" in repr(Card(box()))
