"""The checks of `doctor`, all but those of GPUs: each judges the facts of a box in one sentence, with the fix.

Three levels: *ok*; *note*, where the labs run but something is worth knowing; *broken*, where they cannot run, or
where two or more GPUs stand idle that they should run on. A check that has nothing to look at returns None.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.request import proxy_bypass_environment

from course.hardware.box import GIB, gib
from course.hardware.doctor.facts import LOGS, ROOT, SCRIPTS, Vitals

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


@dataclass(frozen=True)
class Finding:
    """What a check found: its level and one sentence, with the fix where there is something to fix."""

    level: str
    text: str


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, for comparing: '2.13.0+cpu' is (2, 13, 0)."""
    return tuple(map(int, re.match(r"\d+(?:\.\d+)*", version)[0].split(".")))


def system(vitals: Vitals) -> Finding:
    """Linux, or how much of it is missing."""
    if vitals.system == "Windows":
        return Finding(
            BROKEN,
            "The labs need Linux: on Windows, `wsl --install` gives one; open the course in there.",
        )
    if vitals.system != "Linux":
        return Finding(
            NOTE,
            f"On {vitals.system} every launch takes some seconds longer: warm ranks need Linux.",
        )
    return Finding(OK, "Linux")


def python(vitals: Vitals) -> Finding:
    """A Python that is new enough."""
    has, wants = ".".join(map(str, vitals.python)), ".".join(map(str, PYTHON))
    if vitals.python < PYTHON:
        return Finding(
            BROKEN,
            f"This is Python {has} and the course needs {wants}: make a new environment with it.",
        )
    return Finding(OK, f"Python {has}")


def packages(vitals: Vitals) -> Finding:
    """The packages that the course stands on, the course itself among them."""
    installed = vitals.packages
    wrong = [
        f"{name}>={least}" if least != "0" else name
        for name, least in PACKAGES.items()
        if name != "torch"
        and (installed[name] is None or numbers(installed[name]) < numbers(least))
    ]
    if wrong or installed[COURSE] is None:
        what = " ".join(wrong) or COURSE
        return Finding(
            BROKEN,
            f'Missing or too old: {what}; `python -m pip install -e "{ROOT}"` installs what is needed.',
        )
    shown = ("transformers", "datasets", "accelerate", "jupyterlab", "ipywidgets", "nbval")
    return Finding(OK, ", ".join(f"{name} {installed[name]}" for name in shown))


def torch(vitals: Vitals) -> Finding:
    """A torch that is new enough and can be imported."""
    has, wants, failure = vitals.box.torch_version, PACKAGES["torch"], vitals.torch.import_error
    if has is None or numbers(has) < numbers(wants):
        fix = f'`python -m pip install -U "torch>={wants}"`'
        return Finding(
            BROKEN, f"torch {has or 'is missing'}; the course needs {wants} or later: {fix}."
        )
    if failure:
        fix = f'`python -m pip install --force-reinstall "torch>={wants}"` installs it anew'
        return Finding(BROKEN, f"torch {has} cannot be imported ({failure}): {fix}.")
    build = f"CUDA {vitals.box.torch_cuda}" if vitals.box.torch_cuda else "the CPU only"
    return Finding(OK, f"torch {has}, built for {build}")


def cores(vitals: Vitals) -> Finding:
    """A core for each rank."""
    has, ranks = vitals.box.cores, vitals.box.ranks
    if has < ranks:
        return Finding(
            NOTE,
            f"{ranks} ranks share {has} core{'s' * (has > 1)}: all runs, but times say less here.",
        )
    return Finding(OK, f"{has} cores for {ranks} ranks")


def memory(vitals: Vitals) -> Finding:
    """Memory for the ranks: torch and transformers take about a GiB in each."""
    free, ranks = vitals.box.memory_free, vitals.box.ranks
    if free < ranks * GIB:
        level = NOTE if free >= GIB else BROKEN
        return Finding(
            level,
            f"{gib(free)} of memory is free; {ranks} ranks want {ranks} GiB: close other programs.",
        )
    return Finding(OK, f"{gib(free)} of memory free")


def shared_memory(vitals: Vitals) -> Finding | None:
    """Room in /dev/shm, through which NCCL and DataLoader workers pass data; Docker gives 64 MiB by default."""
    if vitals.shm is None:
        return None
    total, free = vitals.shm
    if free < GIB:
        lead = (
            f"/dev/shm has {gib(free)} free of {gib(total)}; NCCL and DataLoader workers want 1 GiB"
        )
        fix = "`docker run --shm-size=2g ...`, else `sudo mount -o remount,size=2g /dev/shm`, or delete what fills it"
        return Finding(NOTE, f"{lead}: {fix}.")
    return Finding(OK, f"/dev/shm has {gib(free)} free")


def open_files(vitals: Vitals) -> Finding:
    """Room for open files and sockets."""
    limit = vitals.open_files
    if limit is not None and limit < 1024:
        return Finding(
            NOTE,
            f"A process may open only {limit} files: `ulimit -n 4096` before starting JupyterLab.",
        )
    return Finding(OK, f"a process may open {'any number of' if limit is None else limit} files")


def loopback(vitals: Vitals) -> Finding:
    """A free port on which this machine reaches itself."""
    if vitals.loopback_error:
        fix = "let a firewall or sandbox allow it, and have /etc/hosts say `127.0.0.1 localhost`"
        return Finding(
            BROKEN,
            f"The ranks cannot meet on a port of localhost ({vitals.loopback_error}): {fix}.",
        )
    return Finding(OK, "ranks can meet on a port of localhost")


def host_name(vitals: Vitals) -> Finding:
    """A host name that leads back to this machine."""
    if vitals.host_error:
        lead = f"The host name {vitals.host} {vitals.host_error}: the labs use loopback instead"
        return Finding(
            NOTE, f"{lead}; for a plain torchrun add `127.0.1.1 {vitals.host}` to /etc/hosts."
        )
    return Finding(OK, f"the host name {vitals.host} leads here")


def proxy(vitals: Vitals) -> Finding:
    """No proxy that would catch what a browser or a script sends to this machine itself."""
    settings = {name.lower(): value for name, value in vitals.environ.items() if value}
    caught = [name for name in ("http_proxy", "https_proxy", "all_proxy") if name in settings]
    bypass = {"no": settings.get("no_proxy", "")}
    if caught and not all(
        proxy_bypass_environment(host, bypass) for host in ("localhost", "127.0.0.1")
    ):
        fix = "`export no_proxy=localhost,127.0.0.1` before starting JupyterLab"
        return Finding(
            NOTE, f"A proxy ({', '.join(caught)}) can catch traffic to this machine itself: {fix}."
        )
    return Finding(OK, "no proxy in the way of localhost")


def scripts(vitals: Vitals) -> Finding:
    """A folder into which the notebooks' scripts can be written."""
    return _writable(SCRIPTS, vitals, BROKEN, "copy the course to a folder that is yours")


def logs(vitals: Vitals) -> Finding:
    """A folder for what the runs print."""
    return _writable(LOGS, vitals, NOTE, "until it can, logs go to a temporary folder")


def _writable(folder: Path, vitals: Vitals, level: str, fix: str) -> Finding:
    if vitals.folders[folder]:
        return Finding(level, f"{folder} cannot be written ({vitals.folders[folder]}): {fix}.")
    return Finding(OK, f"{folder} can be written")


def disk(vitals: Vitals) -> Finding:
    """Room on the disk for scripts, logs, checkpoints and traces."""
    free = vitals.disk_free
    if free < 2 * GIB:
        level = NOTE if free >= GIB / 4 else BROKEN
        lead = f"Only {gib(free)} is free on the disk of {SCRIPTS.parent}"
        return Finding(level, f"{lead}: delete files until 2 GiB are, for checkpoints and traces.")
    return Finding(OK, f"{gib(free)} free on the disk")


SOFTWARE = (system, python, packages, torch)
MACHINE = (
    cores,
    memory,
    shared_memory,
    open_files,
    loopback,
    host_name,
    proxy,
    scripts,
    logs,
    disk,
)
