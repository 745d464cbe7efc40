"""The card of a machine: its hardware and how the labs use it, at a glance."""

import html
from collections import Counter
from dataclasses import dataclass

from course.core import words
from course.drawing import html_card, palette
from course.hardware import gpus
from course.hardware.machine import Machine


@dataclass(frozen=True)
class Card:
    """The machine at a glance: a white card in a notebook, plain lines in a terminal."""

    machine: Machine

    @property
    def lines(self) -> dict[str, str]:
        """The texts of the card, by topic."""
        topics = {"CPU": _cores, "Memory": _memory, "GPUs": _gpus, "torch": _torch, "Labs": _labs}
        return {topic: text(self.machine) for topic, text in topics.items()}

    def __repr__(self) -> str:
        return "\n".join(f"{topic:<8}{text}" for topic, text in self.lines.items())

    def _repr_html_(self) -> str:
        *facts, (_, labs) = self.lines.items()
        rows = "".join(_row(topic, text) for topic, text in facts)
        table = "margin:0 0 8px;border-collapse:collapse;font-size:14px"
        return html_card.card(
            f'<table style="{table};color:{palette.INK}">{rows}</table>'
            f"{_dots(self.machine.ranks)}{html.escape(labs)}",
            f"display:inline-block;font:14px/1.7 {palette.FONT};padding:12px 18px",
        )


def card() -> Card:
    """The card of this machine."""
    return Card(Machine.here())


def _row(topic: str, text: str) -> str:
    head = f"padding:0 1.5em 0 0;text-align:left;font-weight:normal;color:{palette.MUTED}"
    return (
        f'<tr style="{html_card.CLEAR};border:none"><th scope="row" style="{head}">{topic}</th>'
        f'<td style="padding:0;text-align:left">{html.escape(text)}</td></tr>'
    )


def _dots(count: int) -> str:
    """A dot in each rank's colour."""
    dot = "display:inline-block;width:12px;height:12px;border-radius:50%;margin-right:5px"
    return "".join(
        f'<span title="rank {rank}" style="{dot};background:{palette.rank_colour(rank)}"></span>'
        for rank in range(count)
    )


def _cores(machine: Machine) -> str:
    count = words.plural(machine.cores, "core")
    if machine.physical < machine.cores:
        count = f"{machine.cores} hardware threads on {words.plural(machine.physical, 'core')}"
    if machine.cores < machine.all_cores:
        count += f" of the machine's {machine.all_cores}"
    return f"{machine.cpu}, {count}"


def _memory(machine: Machine) -> str:
    return f"{words.gib(machine.memory)}, {words.gib(machine.memory_free)} free"


def _gpus(machine: Machine) -> str:
    if not machine.gpus:
        installed = machine.nvidia.installed
        return f"{installed} installed, none to use" if installed else "none"
    kinds = Counter((gpu.name, gpu.memory) for gpu in machine.gpus)
    phrases = []
    for (name, memory), count in kinds.items():
        size = f" ({words.gib(memory)})" if memory else ""
        phrases.append(f"{count} × {name}{size}")
    if machine.links:
        phrases.append(gpus.links_in_words(machine.links))
    return ", ".join(phrases)


def _torch(machine: Machine) -> str:
    if machine.torch_version is None:
        return "not installed"
    phrases = [machine.torch_version]
    without_cuda = "built for AMD's GPUs" if machine.rocm else "built for the CPU only"
    phrases.append(f"built for CUDA {machine.torch_cuda}" if machine.torch_cuda else without_cuda)
    if machine.nvidia.driver:
        phrases.append(f"NVIDIA driver {machine.nvidia.driver}")
    if machine.nvidia.driver_cuda:
        phrases.append(f"which runs {machine.nvidia.driver_cuda_text}")
    return ", ".join(phrases)


def _labs(machine: Machine) -> str:
    if machine.device == "cuda":
        return f"Here the labs use {machine.ranks} ranks, one per GPU, with NCCL."
    why = ""
    if machine.usable_gpus == 1:
        why = " (ranks over NCCL need a GPU each, and there is one)"
    elif machine.gpus or machine.nvidia.installed:
        why = f" ({machine.obstacle})"
    return f"Here the labs use {machine.ranks} ranks on the CPU with Gloo{why}."
