"""The facts of this machine, and the ranks, device and backend that the labs derive from them.

Nothing here imports torch or touches CUDA, so a notebook kernel may call it before it forks its
ranks.
"""

import importlib.metadata
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.hardware import gpus, quotas
from course.hardware.gpus import Gpu, Gpus, Link

# The lines of torch/version.py that have the versions of torch and of its CUDA.
TORCH_VERSION = re.compile(r"^__version__\b.*=\s*['\"](.+)['\"]", re.MULTILINE)
TORCH_CUDA = re.compile(r"^cuda\b.*=\s*['\"]([\d.]+)['\"]", re.MULTILINE)
NVIDIA, DISPLAY = "0x10de", "0x03"  # PCI vendor; PCI class of graphics and compute cards


@dataclass(frozen=True)
class Machine:
    """The facts of one machine; memory in bytes.

    `cores` is the number of logical cores that this process may use, given its affinity and the
    container's quota; `physical` counts the physical cores behind them, and `all_cores` all
    logical cores of the machine. `torch_cuda` is the CUDA version that torch was built with, None
    for a CPU-only build.
    """

    cpu: str
    cores: int
    physical: int
    all_cores: int
    memory: int
    memory_free: int
    nvidia: Gpus
    torch_version: str | None
    torch_cuda: str | None

    @classmethod
    def here(
        cls, nvml: Any = None, environ: Mapping[str, str] = os.environ, root: Path = Path("/")
    ) -> "Machine":
        """Read the facts of this machine.

        `nvml` can stand in for pynvml, and `root` for the folder that holds /proc and /sys.
        """
        usable = quotas.affinity()
        cores = max(1, min(len(usable), int(quotas.cpu_quota(root) or len(usable))))
        total, free = quotas.memory(root)
        version, cuda = torch_build()
        return cls(
            cpu=quotas.cpu_name(root),
            cores=cores,
            physical=min(cores, quotas.physical_cores(root, usable)),
            all_cores=os.cpu_count() or cores,
            memory=total,
            memory_free=free,
            nvidia=gpus.here(environ, nvidia_on_bus(root), nvml),
            torch_version=version,
            torch_cuda=cuda,
        )

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs that CUDA shows a process, in its order."""
        return self.nvidia.gpus

    @property
    def links(self) -> tuple[Link, ...]:
        """The link between each pair of these GPUs."""
        return self.nvidia.links

    @property
    def obstacle(self) -> str | None:
        """A phrase that says why torch cannot use the GPUs; None if it can."""
        if self.nvidia.failure:
            return "the NVIDIA driver does not answer"
        if not self.gpus:
            if self.nvidia.divided:
                return "MIG is on and has no instance to compute on"
            hidden = self.nvidia.installed > 0
            return f"{gpus.VARIABLE} hides the GPUs" if hidden else "there is no GPU to use"
        if self.torch_cuda is None:
            return "this torch is built for the CPU only"
        if self.driver_too_old:
            newest = self.nvidia.driver_cuda_text
            return f"torch is built for CUDA {self.torch_cuda} and the driver runs {newest}"
        return None

    @property
    def rocm(self) -> bool:
        """Whether torch is built for AMD's GPUs, which the labs do not use."""
        return "+rocm" in (self.torch_version or "")

    @property
    def driver_too_old(self) -> bool:
        """Whether torch's CUDA has a later major version than the driver's.

        Within a major version every driver runs every build (NVIDIA, "CUDA Compatibility", minor
        versions).
        """
        built, driver = self.torch_cuda, self.nvidia.driver_cuda
        if built is None or driver is None:
            return False
        return int(built.split(".")[0]) > driver[0]

    @property
    def usable_gpus(self) -> int:
        """The number of GPUs that torch can use here."""
        return 0 if self.obstacle else len(self.gpus)

    @property
    def device(self) -> str:
        """The device of a lab's ranks: 'cuda' with two usable GPUs or more, else 'cpu'.

        The labs start at least two ranks, and ranks over NCCL need a GPU each.
        """
        return "cuda" if self.usable_gpus > 1 else "cpu"

    @property
    def backend(self) -> str:
        """The backend of a lab's ranks: 'nccl' between GPUs, 'gloo' between CPU processes."""
        return "nccl" if self.device == "cuda" else "gloo"

    @property
    def ranks(self) -> int:
        """The number of ranks in the labs: one per GPU; on the CPU 4, or 2 with at most 3 cores."""
        if self.device == "cuda":
            return self.usable_gpus
        return 4 if self.cores > 3 else 2


def ranks() -> int:
    """The number of ranks in the labs on this machine; on GPUs, one for each of `gpu_count()`."""
    return Machine.here().ranks


def gpu_count() -> int:
    """The number of GPUs that a process started here can use, as CUDA and torch will count them.

    CUDA_VISIBLE_DEVICES and MIG are taken into account. The number is 0 if torch cannot use the
    GPUs at all because it is built for the CPU only or the driver is too old for it. Up to this
    many ranks run on GPUs; if more are started, all of them run on the CPU.
    """
    return Machine.here().usable_gpus


def cores() -> int:
    """The number of logical cores that this process may use."""
    return Machine.here().cores


def device() -> str:
    """The device on which the labs' ranks compute on this machine: 'cuda' or 'cpu'.

    'cuda' promises a GPU to each rank of a run with two to `ranks()` ranks. It takes two GPUs: with
    one, this is 'cpu', although a script of one process could use the GPU. So pass it to a script
    whose figures are compared with those of ranks, to make it compute on their device:
    ``%python src/single.py --device {hardware.device()}``.
    """
    return Machine.here().device


def backend() -> str:
    """The backend of the labs' ranks here: 'nccl' if `device()` is 'cuda', else 'gloo'."""
    return Machine.here().backend


def nvidia_on_bus(root: Path) -> int:
    """The number of NVIDIA GPUs that the PCI bus shows, with or without a driver."""
    cards = (root / "sys/bus/pci/devices").glob("*")
    nvidia = (card for card in cards if quotas.text(card / "vendor").strip() == NVIDIA)
    return sum(quotas.text(card / "class").startswith(DISPLAY) for card in nvidia)


def torch_build() -> tuple[str | None, str | None]:
    """The versions of the installed torch and its CUDA, read from files without importing torch."""
    try:
        package = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        return None, None
    build = quotas.text(Path(str(package.locate_file("torch/version.py"))))
    # Each launch calls this, and `package.version` would parse the whole package description.
    version, cuda = TORCH_VERSION.search(build), TORCH_CUDA.search(build)
    return version[1] if version else package.version, cuda[1] if cuda else None
