"""The checks of the doctor on GPUs, their driver and the libraries between ranks, sick and well."""

from dataclasses import replace

import pytest
from support.fake_nvml import FakeNvml
from support.machines import (
    CPU_BUILD,
    H100,
    ROCM_BUILD,
    assert_finds,
    assert_passes,
    case_names,
    eight_gpus,
    facts,
    machine,
)

from course.core.words import GIB
from course.hardware.doctor import check_gpus as gpus
from course.hardware.doctor.facts import Torch
from course.hardware.doctor.results import BROKEN, NOTE
from course.hardware.gpus import VARIABLE, Gpus

EIGHT = eight_gpus()
EIGHT_OLD = eight_gpus(cuda=12020)
TWO_FULL = FakeNvml("A", "A", free=3 * GIB)
ON_BUS = Gpus(installed=2, failure="The NVIDIA driver is installed but not loaded.")


def says_no(faults, **others):
    """Eight GPUs, of which torch cannot compute on some; on all, if only one reason is given."""
    faults = dict.fromkeys(range(8), faults) if isinstance(faults, str) else faults
    torch = Torch(gloo=True, nccl="2.27.5", gpus=8, faults=faults)
    return facts(machine(EIGHT), torch=torch, **others)


SICK = [  # check, facts, level, what the sentence says
    (
        gpus.driver,
        facts(machine(nvidia=ON_BUS)),
        BROKEN,
        "not loaded. Until then the labs run on the CPU.",
    ),
    (
        gpus.driver,
        facts(machine(nvidia=replace(ON_BUS, installed=1))),
        NOTE,
        "Until then the labs run on the CPU.",
    ),
    (
        gpus.driver,
        facts(machine(EIGHT_OLD)),
        BROKEN,
        "runs CUDA up to 12.2 and torch is built for CUDA 13.0: update the driver",
    ),
    (
        gpus.driver,
        facts(machine(EIGHT_OLD)),
        BROKEN,
        '"torch>=2.11" --index-url https://download.pytorch.org/whl/cu126`.',
    ),
    (
        gpus.driver,
        facts(machine(FakeNvml("A", cuda=12020))),
        NOTE,
        "update the driver to 580 or later, or `python",
    ),
    (
        gpus.driver,
        facts(machine(FakeNvml("A", cuda=11080))),
        NOTE,
        "update the driver to 580 or later.",
    ),
    (
        gpus.driver,
        facts(machine(EIGHT, **CPU_BUILD)),
        BROKEN,
        "torch 2.13.0+cpu is built for the CPU only",
    ),
    (
        gpus.driver,
        facts(machine(EIGHT, **CPU_BUILD)),
        BROKEN,
        "https://download.pytorch.org/whl/cu130` installs one",
    ),
    (
        gpus.driver,
        facts(machine(EIGHT_OLD, **CPU_BUILD)),
        BROKEN,
        "https://download.pytorch.org/whl/cu126` installs one",
    ),
    (gpus.driver, facts(machine(FakeNvml("A"), **CPU_BUILD)), NOTE, "is built for the CPU only"),
    (
        gpus.visible,
        facts(machine(EIGHT, "0,9")),
        BROKEN,
        "CUDA ignores '9' and all entries after it",
    ),
    (
        gpus.visible,
        facts(machine(FakeNvml("A"), "1")),
        NOTE,
        "this machine has only GPU 0, so CUDA ignores '1'",
    ),
    (
        gpus.divided,
        facts(machine(FakeNvml("A", "A", mig={0: 2, 1: 2}))),
        BROKEN,
        "MIG is on, and the labs can use only one of the instances",
    ),
    (
        gpus.divided,
        facts(machine(FakeNvml("A", mig={0: 0}))),
        NOTE,
        "MIG is on and there is no instance to compute on",
    ),
    (
        gpus.alike,
        facts(machine(FakeNvml("A", "B"))),
        NOTE,
        "The GPUs differ (A, B), so each step waits for the slowest",
    ),
    (
        gpus.room,
        facts(machine(TWO_FULL)),
        NOTE,
        "free on GPU 0 (3 GiB of 80 GiB), GPU 1 (3 GiB of 80 GiB): `nvidia-smi`",
    ),
    (
        gpus.cuda,
        says_no("no kernel image is available"),
        BROKEN,
        "(no kernel image is available): this build has no code",
    ),
    (
        gpus.cuda,
        says_no("Error 802: system not yet initialized"),
        BROKEN,
        "nvidia-fabricmanager",
    ),
    (gpus.cuda, says_no("CUDA out of memory."), BROKEN, "another program fills it"),
    (gpus.cuda, says_no("CUDA error: invalid device ordinal"), BROKEN, "whether MIG is on"),
    (gpus.cuda, says_no("all devices are busy or unavailable"), BROKEN, "has it for itself"),
    (gpus.cuda, says_no("CUBLAS_STATUS_NOT_INITIALIZED"), BROKEN, "`unset LD_LIBRARY_PATH`"),
    (
        gpus.cuda,
        says_no("unknown error"),
        BROKEN,
        "on GPUs 0, 1, 2, 3, 4, 5, 6, 7 (unknown error): `nvidia-smi` should say more, or "
        "restart the machine.",
    ),
    (
        gpus.cuda,
        says_no({5: "out of memory", 6: "it does not answer", 7: "out of memory"}),
        BROKEN,
        "on GPUs 5, 7 (out of memory) and GPU 6 (it does not answer): another program fills it; "
        "`nvidia-smi` shows which; until then, `export CUDA_VISIBLE_DEVICES=0,1,2,3,4` does",
    ),
    (
        gpus.cuda,
        says_no({0: "it does not answer"}, environ={VARIABLE: "7,6,5,4,3,2,1,0"}),
        BROKEN,
        "until then, `export CUDA_VISIBLE_DEVICES=6,5,4,3,2,1,0` does without.",
    ),
    (
        gpus.cuda,
        facts(machine(EIGHT), torch=Torch(gloo=True, nccl="2.27.5", gpus=7)),
        BROKEN,
        "The driver shows 8 GPUs and CUDA 7",
    ),
    (
        gpus.backend,
        facts(torch=Torch(gloo=False, nccl="2.27.5")),
        BROKEN,
        "built without Gloo",
    ),
    (gpus.backend, facts(machine(EIGHT), torch=Torch(True, gpus=8)), BROKEN, "built without NCCL"),
    (
        gpus.driver,
        facts(machine(**ROCM_BUILD)),
        NOTE,
        "built for AMD's GPUs, which the labs do not use",
    ),
    (
        gpus.divided,
        facts(machine(FakeNvml("A", "A", mig={0: 1, 1: 2}))),
        BROKEN,
        "and do so before you start scripts from a terminal",
    ),
    (
        gpus.shared,
        facts(machine(FakeNvml("A", "A", exclusive=(1,)))),
        NOTE,
        "One process at a time may use GPU 1 (mode EXCLUSIVE_PROCESS)",
    ),
    (
        gpus.precision,
        facts(machine(EIGHT), environ={gpus.TF32: "1"}),
        NOTE,
        "rounds float32 products",
    ),
]
WELL = [  # check, facts, what the sentence says; None: nothing to look at
    (gpus.driver, facts(), "no NVIDIA GPU: the labs run on the CPU with Gloo"),
    (gpus.driver, facts(machine(EIGHT)), "NVIDIA driver 580.65.06 runs CUDA up to 13.0"),
    (
        gpus.driver,
        facts(machine(EIGHT_OLD, torch_cuda="12.6")),
        "NVIDIA driver 580.65.06 runs CUDA up to 12.2",
    ),
    (gpus.visible, facts(), None),
    (
        gpus.visible,
        facts(machine(EIGHT, "2,3"), environ={VARIABLE: "2,3"}),
        "CUDA_VISIBLE_DEVICES=2,3 shows 2 of 8 GPUs",
    ),
    (gpus.divided, facts(machine(EIGHT)), None),
    (gpus.divided, facts(machine(FakeNvml("A", mig={0: 1}))), None),
    (gpus.shared, facts(machine(EIGHT)), None),
    (gpus.shared, facts(machine(FakeNvml("A", exclusive=(0,)))), None),
    (gpus.precision, facts(machine(EIGHT), environ={gpus.TF32: "0"}), None),
    (gpus.precision, facts(environ={gpus.TF32: "1"}), None),
    (gpus.alike, facts(), None),
    (gpus.alike, facts(machine(FakeNvml("A"))), "1 × A"),
    (gpus.alike, facts(machine(EIGHT)), f"8 × {H100}, each pair connected by NVLink (NV18)"),
    (gpus.room, facts(), None),
    (gpus.room, facts(machine(EIGHT)), "at least 79 GiB free on each GPU"),
    (gpus.cuda, facts(machine(EIGHT, **CPU_BUILD)), None),
    (gpus.cuda, facts(machine(EIGHT), torch=Torch(import_error="it took more than 90 s")), None),
    (gpus.cuda, facts(machine(EIGHT)), "torch computes on each of 8 GPUs"),
    (gpus.cuda, facts(machine(FakeNvml("A"))), "torch computes on the GPU"),
    (gpus.backend, facts(machine(EIGHT)), "NCCL 2.27.5 and Gloo"),
    (gpus.backend, facts(torch=Torch(gloo=True)), "Gloo"),
    (gpus.backend, facts(torch=Torch(import_error="no")), None),
]


@pytest.mark.parametrize(("check", "facts", "level", "words"), SICK, ids=case_names(SICK))
def test_a_check_finds_its_fault_and_no_other_check_does(check, facts, level, words):
    assert_finds(check, facts, level, words)


@pytest.mark.parametrize(("check", "facts", "words"), WELL, ids=case_names(WELL))
def test_a_check_lets_a_sound_machine_pass(check, facts, words):
    assert_passes(check(facts), words)


def test_every_check_is_tested_both_ways():
    assert {check for check, *_ in SICK} == {check for check, *_ in WELL} == set(gpus.GPUS)
