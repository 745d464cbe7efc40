"""The checks of `doctor`: each a small function that judges the facts of a box in one sentence, with the fix.

Three levels: *ok*; *note*, where the labs run but something is worth knowing; *broken*, where they cannot run, or
where two or more GPUs stand idle that they should run on.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from course.hardware import Box
from course.vitals import ROOT, Vitals

OK, NOTE, BROKEN = "ok", "note", "broken"
PYTHON = (3, 11)
# The same bounds as in pyproject.toml, by hand: a doctor must work where the package's own metadata is not installed.
PACKAGES = {
    "torch": "2.11",
    "numpy": "0",
    "transformers": "5",
    "datasets": "4",
    "accelerate": "1.12",
    "scikit-learn": "1.5",
    "jupyterlab": "4.4",
    "ipywidgets": "8.1",
    "anywidget": "0.9.18",
    "matplotlib": "3.9",
    "pandas": "2.2",
    "psutil": "6",
    "nvidia-ml-py": "12",
    "jupytext": "1.16",
    "nbclient": "0.10",
    "nbval": "0.11",
    "pytest": "8",
}
COURSE = "multi-gpu-course"
NO_PROXY = "export no_proxy=localhost,127.0.0.1,::1"


@dataclass(frozen=True)
class Finding:
    """What a check found: its level and one sentence, with the fix where there is something to fix."""

    level: str
    text: str


CHECKS: list[Callable[[Vitals], Finding]] = []


def check(function: Callable[[Vitals], Finding]) -> Callable[[Vitals], Finding]:
    """Register a check; they run and print in the order they are written."""
    CHECKS.append(function)
    return function


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, for comparing: '2.13.0+cpu' is (2, 13, 0)."""
    return tuple(map(int, re.match(r"\d+(?:\.\d+)*", version)[0].split(".")))


def _idle(box: Box) -> str:
    """The level of a fault that keeps torch from the GPUs: the labs would only use two or more."""
    return BROKEN if box.nvidia.installed > 1 else NOTE


def _install_torch(box: Box) -> str:
    """The command that installs a torch that this driver runs."""
    build = "cu130" if (box.nvidia.driver_cuda or (0, 0)) >= (13, 0) else "cu126"
    return (
        f'`python -m pip install --force-reinstall "torch>={PACKAGES["torch"]}" '
        f"--index-url https://download.pytorch.org/whl/{build}`"
    )


@check
def system(vitals: Vitals) -> Finding:
    """Linux, or how much of it is missing."""
    if vitals.system == "Windows":
        return Finding(BROKEN, "The labs need Linux: on Windows, `wsl --install` gives one; open the course in there.")
    if vitals.system != "Linux":
        return Finding(NOTE, f"On {vitals.system} every launch takes some seconds longer: warm ranks need Linux.")
    return Finding(OK, "Linux")


@check
def python(vitals: Vitals) -> Finding:
    """A Python that is new enough."""
    has, wants = ".".join(map(str, vitals.python)), ".".join(map(str, PYTHON))
    if vitals.python < PYTHON:
        return Finding(BROKEN, f"This is Python {has} and the course needs {wants}: make a new environment with it.")
    return Finding(OK, f"Python {has}")


@check
def packages(vitals: Vitals) -> Finding:
    """The packages that the course stands on, the course itself among them."""
    installed = vitals.packages
    wrong = [
        f"{name}>={least}" if least != "0" else name
        for name, least in PACKAGES.items()
        if installed[name] is None or numbers(installed[name]) < numbers(least)
    ]
    if wrong or installed[COURSE] is None:
        what = " ".join(wrong) or COURSE
        return Finding(
            BROKEN, f'Missing or too old: {what}; `python -m pip install -e "{ROOT}"` installs what is needed.'
        )
    shown = ("transformers", "datasets", "accelerate", "jupyterlab", "ipywidgets", "nbval")
    return Finding(OK, ", ".join(f"{name} {installed[name]}" for name in shown))


@check
def torch(vitals: Vitals) -> Finding:
    """A torch that can be imported."""
    box, failure = vitals.box, vitals.torch.import_error
    if box.torch_version and failure:
        fix = "`python -m pip install --force-reinstall torch` installs it anew."
        return Finding(BROKEN, f"torch {box.torch_version} cannot be imported ({failure}): {fix}")
    if box.torch_version is None:
        return Finding(BROKEN, "torch is not installed: `python -m pip install torch`.")
    build = f"CUDA {box.torch_cuda}" if box.torch_cuda else "the CPU only"
    return Finding(OK, f"torch {box.torch_version}, built for {build}")


@check
def driver(vitals: Vitals) -> Finding:
    """An NVIDIA driver that runs torch's CUDA."""
    box, nvidia = vitals.box, vitals.box.nvidia
    if nvidia.failure:
        return Finding(_idle(box), f"{nvidia.failure} Until then the labs run on the CPU.")
    if not nvidia.installed:
        return Finding(OK, "no NVIDIA GPU: the labs run on the CPU with Gloo")
    newest = "CUDA up to {}.{}".format(*nvidia.driver_cuda) if nvidia.driver_cuda else "CUDA"
    if box.torch_version and box.torch_cuda is None:
        lead = f"torch {box.torch_version} is built for the CPU only and cannot use the GPU here"
        return Finding(_idle(box), f"{lead}: {_install_torch(box)} installs one that can.")
    if box.driver_too_old:
        lead = f"NVIDIA driver {nvidia.driver} runs {newest} and torch is built for CUDA {box.torch_cuda}"
        newer = "update the driver to 580 or later"
        instead = f", or {_install_torch(box)}" if nvidia.driver_cuda >= (12, 0) else ""
        return Finding(_idle(box), f"{lead}: {newer}{instead}.")
    return Finding(OK, f"NVIDIA driver {nvidia.driver} runs {newest}")
