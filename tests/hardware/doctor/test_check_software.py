"""The checks of the doctor on the system, Python and the packages, sick and well."""

import pytest
from support.machines import (
    CPU_BUILD,
    assert_finds,
    assert_passes,
    case_names,
    facts,
    installed,
    machine,
)

from course.core.installed import PACKAGE
from course.hardware.doctor import check_software as software
from course.hardware.doctor.facts import Torch
from course.hardware.doctor.results import BROKEN, NOTE

SICK = [  # check, facts, level, what the sentence says
    (software.system, facts(system="Darwin"), NOTE, "warm ranks need Linux"),
    (software.system, facts(system="Windows"), BROKEN, "`wsl --install`"),
    (
        software.python,
        facts(python=(3, 10)),
        BROKEN,
        "This is Python 3.10 and the course needs 3.11",
    ),
    (
        software.packages,
        facts(packages=installed(datasets=None)),
        BROKEN,
        "Missing or too old: datasets>=4; `python -m pip install -e",
    ),
    (
        software.packages,
        facts(packages=installed(accelerate="1.9.2")),
        BROKEN,
        "Missing or too old: accelerate>=1.12;",
    ),
    (
        software.packages,
        facts(packages=installed() | {PACKAGE: None}),
        BROKEN,
        "Missing or too old: multi-gpu-course;",
    ),
    (
        software.torch,
        facts(machine(torch_version=None)),
        BROKEN,
        "torch is missing; the course needs 2.11 or later: `python -m pip",
    ),
    (
        software.torch,
        facts(machine(torch_version="2.9.1+cu128")),
        BROKEN,
        'pip install -U "torch>=2.11"`',
    ),
    (
        software.torch,
        facts(torch=Torch(import_error="OSError: libx.so")),
        BROKEN,
        "cannot be imported (OSError: libx.so): `python -m pip install --force-reinstall",
    ),
    (
        software.torch,
        facts(torch=Torch(import_error="it took more than 90 s", late=True)),
        BROKEN,
        "reads much from the disk, so try again. If it takes as long, `python -m pip install --f",
    ),
    (
        software.torch,
        facts(machine(torch_version="2.16.0+cu130")),
        NOTE,
        'newer than any that the course was tried with: `python -m pip install "torch<2.16"`',
    ),
]
WELL = [  # check, facts, what the sentence says; None: nothing to look at
    (software.system, facts(), "Linux"),
    (software.python, facts(python=(3, 14)), "Python 3.14"),
    (
        software.packages,
        facts(),
        "transformers 99.0, datasets 99.0, accelerate 99.0, jupyterlab 99.0, ipywidgets 99.0, "
        "nbval",
    ),
    (
        software.torch,
        facts(machine(torch_version="2.11.0a0+git1")),
        "torch 2.11.0a0+git1, built for CUDA 13.0",
    ),
    (software.torch, facts(machine(**CPU_BUILD)), "torch 2.13.0+cpu, built for the CPU only"),
]


@pytest.mark.parametrize(("check", "facts", "level", "words"), SICK, ids=case_names(SICK))
def test_a_check_finds_its_fault_and_no_other_check_does(check, facts, level, words):
    assert_finds(check, facts, level, words)


@pytest.mark.parametrize(("check", "facts", "words"), WELL, ids=case_names(WELL))
def test_a_check_lets_a_sound_machine_pass(check, facts, words):
    assert_passes(check(facts), words)


def test_every_check_is_tested_both_ways():
    assert {check for check, *_ in SICK} == {check for check, *_ in WELL} == set(software.SOFTWARE)
