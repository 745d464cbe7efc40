"""The facts of a machine, and how the labs use it, for this machine and for others."""

import os
import subprocess
import sys

import psutil
import pytest
from support.fake_nvml import FakeNvml
from support.machines import H100, machine, put

from course import hardware
from course.hardware.machine import Machine
from course.hardware.machine_card import Card


def test_this_machine_agrees_with_the_operating_system():
    here = Machine.here()
    assert 1 <= here.physical <= here.cores <= len(os.sched_getaffinity(0)) <= here.all_cores
    assert 0 < here.memory_free <= here.memory <= psutil.virtual_memory().total
    assert hardware.cores() == here.cores and hardware.ranks() == here.ranks
    assert hardware.device() == here.device and hardware.backend() == here.backend
    assert hardware.gpu_count() == here.usable_gpus


def test_asking_imports_no_torch():
    code = (
        "import sys; from course import hardware; hardware.card()._repr_html_(); "
        "print('torch' in sys.modules)"
    )
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
    assert list(map(str, hardware.machine.torch_build())) == says


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
    here = machine(FakeNvml(*[H100] * gpu_count), torch_cuda=torch_cuda, cores=cores)
    assert (here.ranks, here.device, here.backend) == (ranks, device, backend)


@pytest.mark.parametrize(
    ("built", "driver", "old"),
    [("13.0", 12080, True), ("12.6", 12020, False), ("12.6", 13000, False)],
)
def test_driver_runs_every_build_of_its_major_version_and_of_earlier_ones(built, driver, old):
    here = machine(FakeNvml(H100, H100, cuda=driver), torch_cuda=built)
    assert here.driver_too_old is old
    assert here.usable_gpus == (0 if old else 2)
    assert ("built for CUDA 13.0 and the driver runs CUDA up to 12.8" in repr(Card(here))) is old


def test_quota_limits_the_cores(tmp_path):
    put(tmp_path, "proc/self/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/cpu.max", "50000 100000\n")
    assert Machine.here(FakeNvml(), {}, tmp_path).cores == 1
