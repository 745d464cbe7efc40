"""The doctor's checks of the system, Python and the packages."""

import re

from course.core import ROOT, installed
from course.hardware.doctor.facts import Facts
from course.hardware.doctor.requirements import PACKAGES, PYTHON, UNTRIED_TORCH
from course.hardware.doctor.results import CheckResult, broken, note, ok

SHOWN = ("transformers", "datasets", "accelerate", "jupyterlab", "ipywidgets", "nbval")


def system(facts: Facts) -> CheckResult:
    """Check for Linux."""
    if facts.system == "Windows":
        fix = "on Windows, `wsl --install` gives one; open the course in there"
        return broken(f"The labs need Linux: {fix}.")
    if facts.system != "Linux":
        slower = "every launch takes a few seconds longer: warm ranks need Linux"
        return note(f"On {facts.system} {slower}.")
    return ok("Linux")


def python(facts: Facts) -> CheckResult:
    """Check that Python is new enough."""
    has, wants = ".".join(map(str, facts.python)), ".".join(map(str, PYTHON))
    if facts.python < PYTHON:
        lead = f"This is Python {has} and the course needs {wants}"
        return broken(f"{lead}: make a new environment with it.")
    return ok(f"Python {has}")


def packages(facts: Facts) -> CheckResult:
    """Check the packages that the course needs, and the course itself."""
    versions = facts.packages
    wrong = [
        f"{name}>={least}"
        for name, least in PACKAGES.items()
        if name != "torch" and _too_old(versions[name], least)
    ]
    if wrong or versions[installed.PACKAGE] is None:
        lead = f"Missing or too old: {' '.join(wrong) or installed.PACKAGE}"
        return broken(f'{lead}; `python -m pip install -e "{ROOT}"` installs what is needed.')
    return ok(", ".join(f"{name} {versions[name]}" for name in SHOWN))


def torch(facts: Facts) -> CheckResult:
    """Check that torch is new enough, can be imported, and was tried with the course."""
    has, wants, failure = facts.machine.torch_version, PACKAGES["torch"], facts.torch.import_error
    if _too_old(has, wants):
        fix = f'`python -m pip install -U "torch>={wants}"`'
        return broken(f"torch {has or 'is missing'}; the course needs {wants} or later: {fix}.")
    if failure:
        fix = f'`python -m pip install --force-reinstall "torch>={wants}"` installs it again'
        if facts.torch.late:
            first = "The first import reads much from the disk, so try again"
            fix = f"{first}. If it takes as long, {fix}"
            return broken(f"torch {has} cannot be imported ({failure}). {fix}.")
        return broken(f"torch {has} cannot be imported ({failure}): {fix}.")
    if not _too_old(has, UNTRIED_TORCH):
        fix = f'`python -m pip install "torch<{UNTRIED_TORCH}"` brings one that was'
        return note(f"torch {has} is newer than any that the course was tried with: {fix}.")
    build = f"CUDA {facts.machine.torch_cuda}" if facts.machine.torch_cuda else "the CPU only"
    return ok(f"torch {has}, built for {build}")


SOFTWARE = (system, python, packages, torch)


def _too_old(version: str | None, least: str) -> bool:
    return version is None or _numbers(version) < _numbers(least)


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, for comparing: '2.13.0+cpu' is (2, 13, 0)."""
    return tuple(map(int, re.findall(r"\d+", re.split(r"[^\d.]", version)[0])))
