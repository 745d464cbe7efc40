"""What this box has, and what the labs make of it: how many ranks, on which device, over which backend.

Nothing here imports torch or touches CUDA, so a notebook kernel may ask before it forks its ranks.
"""

import html
import importlib.metadata
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.drawing import palette
from course.hardware import gpus, quotas
from course.hardware.gpus import Gpu, Gpus, Link

GIB = 2**30
NVIDIA, DISPLAY = "0x10de", "0x03"  # PCI vendor; PCI class of graphics and compute cards


@dataclass(frozen=True)
class Box:
    """The facts of one machine; memory in bytes.

    `cores` are the logical cores that this process may use (affinity and container quota counted), `physical` the
    cores of silicon behind them, `machine_cores` all of the machine's. `torch_cuda` is the CUDA version that torch was
    built with, None for a CPU-only build.
    """

    cpu: str
    cores: int
    physical: int
    machine_cores: int
    memory: int
    memory_free: int
    nvidia: Gpus
    torch_version: str | None
    torch_cuda: str | None

    @classmethod
    def here(
        cls, nvml: Any = None, environ: Mapping[str, str] = os.environ, root: Path = Path("/")
    ) -> "Box":
        """Read the facts; `nvml` stands in for pynvml, and `root` for the folder that holds /proc and /sys."""
        usable = quotas.affinity()
        cores = max(1, min(len(usable), int(quotas.cpu_quota(root) or len(usable))))
        total, free = quotas.memory(root)
        version, cuda = torch_build()
        return cls(
            cpu=quotas.cpu_name(root),
            cores=cores,
            physical=min(cores, quotas.physical_cores(root, usable)),
            machine_cores=os.cpu_count() or cores,
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
        """How each pair of them is connected."""
        return self.nvidia.links

    @property
    def obstacle(self) -> str | None:
        """Why torch cannot use the GPUs, as a phrase; None where it can."""
        if self.nvidia.failure:
            return "the NVIDIA driver does not answer"
        if not self.gpus:
            return (
                "CUDA_VISIBLE_DEVICES hides the GPUs"
                if self.nvidia.installed
                else "there is no GPU to use"
            )
        if self.torch_cuda is None:
            return "this torch is built for the CPU only"
        if self.driver_too_old:
            driver = "{}.{}".format(*self.nvidia.driver_cuda)
            return (
                f"torch is built for CUDA {self.torch_cuda} and the driver runs CUDA up to {driver}"
            )
        return None

    @property
    def driver_too_old(self) -> bool:
        """Whether torch's CUDA is of a later major version than the driver's.

        Within a major version every driver runs every build (NVIDIA, "CUDA Compatibility", minor versions).
        """
        built, driver = self.torch_cuda, self.nvidia.driver_cuda
        return bool(built and driver) and int(built.split(".")[0]) > driver[0]

    @property
    def usable_gpus(self) -> int:
        """How many GPUs torch can use here."""
        return 0 if self.obstacle else len(self.gpus)

    @property
    def device(self) -> str:
        """Where the ranks of a lab compute: 'cuda' with two usable GPUs or more, else 'cpu'."""
        return "cuda" if self.usable_gpus > 1 else "cpu"

    @property
    def backend(self) -> str:
        """What carries their messages: 'nccl' between GPUs, 'gloo' between CPU processes."""
        return "nccl" if self.device == "cuda" else "gloo"

    @property
    def ranks(self) -> int:
        """How many ranks the labs start: one a GPU; on the CPU 4, or 2 where there are at most 3 cores."""
        if self.device == "cuda":
            return self.usable_gpus
        return 4 if self.cores > 3 else 2


def ranks() -> int:
    """How many ranks the labs start on this box."""
    return Box.here().ranks


def gpu_count() -> int:
    """How many GPUs torch can use on this box, CUDA_VISIBLE_DEVICES counted."""
    return Box.here().usable_gpus


def cores() -> int:
    """How many logical cores this process may use."""
    return Box.here().cores


def device() -> str:
    """The device of the labs' ranks on this box: 'cuda' or 'cpu'."""
    return Box.here().device


def backend() -> str:
    """The backend of the labs' process groups on this box: 'nccl' or 'gloo'."""
    return Box.here().backend


def nvidia_on_bus(root: Path) -> int:
    """How many NVIDIA GPUs the PCI bus shows, with or without a driver."""
    cards = (root / "sys/bus/pci/devices").glob("*")
    nvidia = (card for card in cards if quotas.text(card / "vendor").strip() == NVIDIA)
    return sum(quotas.text(card / "class").startswith(DISPLAY) for card in nvidia)


def torch_build() -> tuple[str | None, str | None]:
    """The version of the installed torch and the CUDA that it was built with, read from its files, not imported."""
    try:
        package = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        return None, None
    build = quotas.text(Path(package.locate_file("torch/version.py")))
    cuda = re.search(r"^cuda\b.*=\s*['\"]([\d.]+)['\"]", build, re.MULTILINE)
    return package.version, cuda[1] if cuda else None


@dataclass(frozen=True)
class Card:
    """The box at a glance: a white card in a notebook, plain lines in a terminal."""

    box: Box

    @property
    def lines(self) -> dict[str, str]:
        """What the card says, by topic."""
        topics = {"CPU": _cores, "Memory": _memory, "GPUs": _gpus, "torch": _torch, "Labs": _labs}
        return {topic: text(self.box) for topic, text in topics.items()}

    def __repr__(self) -> str:
        return "\n".join(f"{topic:<8}{text}" for topic, text in self.lines.items())

    def _repr_html_(self) -> str:
        *facts, (_, labs) = self.lines.items()
        topic = f"padding:0 1.5em 0 0;text-align:left;font-weight:normal;color:{palette.MUTED}"
        plain = "background:none;border:none"
        rows = "".join(
            f'<tr style="{plain}"><th scope="row" style="{topic}">{name}</th>'
            f'<td style="padding:0;text-align:left">{html.escape(text)}</td></tr>'
            for name, text in facts
        )
        return (
            f'<div style="display:inline-block;background:{palette.CARD};color:{palette.INK};'
            f'font:14px/1.7 {palette.FONT};border:1px solid {palette.RULE};border-radius:8px;padding:12px 18px">'
            f'<table style="margin:0 0 8px;border-collapse:collapse;color:{palette.INK};font-size:14px">{rows}</table>'
            f"{_dots(self.box.ranks)}{html.escape(labs)}</div>"
        )


def card() -> Card:
    """The card of this box."""
    return Card(Box.here())


def _dots(count: int) -> str:
    """A dot in each rank's colour."""
    dot = (
        "display:inline-block;width:12px;height:12px;border-radius:50%;margin-right:5px;background"
    )
    colours = (palette.rank_colour(rank) for rank in range(count))
    return "".join(
        f'<span title="rank {rank}" style="{dot}:{colour}"></span>'
        for rank, colour in enumerate(colours)
    )


def gib(size: int) -> str:
    """A size for a reader, such as '79.6 GiB'."""
    return f"{size / GIB:.3g} GiB" if size < 1000 * GIB else f"{size / GIB:,.0f} GiB"


def _cores(box: Box) -> str:
    count = f"{box.cores} core{'s' * (box.cores != 1)}"
    if box.physical < box.cores:
        count = f"{box.cores} hardware threads on {box.physical} core{'s' * (box.physical != 1)}"
    return f"{box.cpu}, {count}" + (
        f" of the machine's {box.machine_cores}" if box.cores < box.machine_cores else ""
    )


def _memory(box: Box) -> str:
    return f"{gib(box.memory)}, {gib(box.memory_free)} free"


def _gpus(box: Box) -> str:
    if not box.gpus:
        return (
            "none"
            if box.nvidia.installed == 0
            else f"{box.nvidia.installed} installed, none to use"
        )
    kinds = Counter((gpu.name, gpu.memory) for gpu in box.gpus)
    names = [
        f"{count} × {name}" + (f" ({gib(size)})" if size else "")
        for (name, size), count in kinds.items()
    ]
    return ", ".join([*names, *([links(box)] if box.links else [])])


def links(box: Box) -> str:
    """How the GPUs are connected, in a phrase; the rarer links of a mixed box are counted."""
    kinds = Counter(f"{link.words} ({link.kind})" for link in box.links)
    if len(kinds) == 1:
        pairs = "each pair" if len(box.links) > 1 else "the pair"
        return f"{pairs} connected by {next(iter(kinds))}"
    return ", ".join(
        f"{count} of {len(box.links)} pairs by {kind}" for kind, count in kinds.most_common()
    )


def _torch(box: Box) -> str:
    if box.torch_version is None:
        return "not installed"
    build = f"built for CUDA {box.torch_cuda}" if box.torch_cuda else "built for the CPU only"
    driver = f", NVIDIA driver {box.nvidia.driver}" if box.nvidia.driver else ""
    newest = (
        ", which runs CUDA up to {}.{}".format(*box.nvidia.driver_cuda)
        if box.nvidia.driver_cuda
        else ""
    )
    return f"{box.torch_version}, {build}{driver}{newest}"


def _labs(box: Box) -> str:
    if box.device == "cuda":
        return f"Here the labs use {box.ranks} ranks, one a GPU, with NCCL."
    why = ""
    if box.usable_gpus == 1:
        why = " (ranks over NCCL need a GPU each, and there is one)"
    elif box.gpus or box.nvidia.installed:
        why = f" ({box.obstacle})"
    return f"Here the labs use {box.ranks} ranks on the CPU with Gloo{why}."
