"""Made-up machines, and what the doctor reads there: all is sound except what a test names."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pynvml

from course.core.installed import PACKAGE
from course.core.words import GIB
from course.hardware import gpus
from course.hardware.doctor import CHECKS
from course.hardware.doctor.facts import LOGS, SCRIPTS, Facts, Torch
from course.hardware.doctor.requirements import PACKAGES
from course.hardware.doctor.results import OK, CheckResult
from course.hardware.machine import Machine
from support.fake_nvml import FakeNvml

H100 = "NVIDIA H100 80GB HBM3"
NO_GPU = {"refusal": pynvml.NVML_ERROR_LIBRARY_NOT_FOUND}
ROCM_BUILD = {"torch_cuda": None, "torch_version": "2.13.0+rocm6.4"}
CPU_BUILD = {"torch_cuda": None, "torch_version": "2.13.0+cpu"}


def machine(nvml=None, visible=None, root=Path("/nowhere"), cores=16, **others) -> Machine:
    """A sound machine with the GPUs of `nvml` (none by default) and this CUDA_VISIBLE_DEVICES."""
    environ = {} if visible is None else {gpus.VARIABLE: visible}
    sound = {
        "cpu": "Test CPU",
        "cores": cores,
        "physical": cores,
        "all_cores": cores,
        "memory": 64 * GIB,
        "memory_free": 60 * GIB,
        "torch_version": "2.13.0",
        "torch_cuda": "13.0",
    }
    return replace(Machine.here(nvml or FakeNvml(**NO_GPU), environ, root), **(sound | others))


def eight_gpus(**others) -> FakeNvml:
    """Eight GPUs connected by a switch."""
    return FakeNvml(*[H100] * 8, switched=18, **others)


def put(root: Path, path: str, text: str) -> None:
    """Write a file of a made-up machine, whose file system is below `root`."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def installed(**versions) -> dict:
    """The versions of all packages: new enough, except those given in `versions`."""
    return dict.fromkeys(PACKAGES, "99.0") | {PACKAGE: "0.1.0"} | versions


def facts(here=None, **others) -> Facts:
    """What the doctor reads on a sound machine."""
    here = here or machine()
    sound = {
        "machine": here,
        "load": 0.5,
        "torch": Torch(gloo=True, nccl="2.27.5", gpus=here.usable_gpus),
        "system": "Linux",
        "python": (3, 11),
        "packages": installed(),
        "shm": (8 * GIB, 8 * GIB),
        "open_files": 1024,
        "loopback_error": None,
        "host": "box",
        "host_error": None,
        "folders": {SCRIPTS: None, LOGS: None},
        "disk_free": 2 * GIB,
        "isolation_error": None,
        "environ": {},
    }
    return Facts(**(sound | others))


def case_names(cases) -> list[str]:
    """Names for parametrized cases of (check, facts, ..., words)."""
    return [f"{check.__name__}-{(words or '')[:30]}" for check, *_, words in cases]


def assert_finds(check: Callable, facts: Facts, level: str, words: str) -> None:
    """Assert that only this check finds a fault: of this level, one sentence with these words."""
    result = check(facts)
    assert result.level == level and words in result.text
    assert result.text.endswith(".") and "\n" not in result.text
    others = [other(facts) for other in CHECKS if other is not check]
    assert [other.text for other in others if other and other.level != OK] == []


def assert_passes(result: CheckResult | None, words: str | None) -> None:
    """Assert that a result says that all is well; if `words` is None, that there is none."""
    if words is None:
        assert result is None
    else:
        assert result.level == OK and words in result.text


class Notes(list):
    """Collects the notes that the launcher would show to the learner."""

    def note(self, text: str, once: bool = False) -> None:
        """Keep a sentence."""
        self.append(text)
