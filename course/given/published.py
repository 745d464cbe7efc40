"""Constants of links, and published throughputs of training on several GPUs, for lab 08."""

from typing import NamedTuple

LINKS = {  # α in s, and β in s per byte: round figures, not measured
    "NVLink": (6e-6, 1 / 120e9),
    "PCIe": (8e-6, 1 / 10e9),
    "InfiniBand": (5e-6, 1 / 46e9),  # four ports of 100 Gbit/s
    "25 Gbit/s": (15e-6, 1 / 2.9e9),
    "10 Gbit/s": (30e-6, 1 / 1.17e9),
}


class Published(NamedTuple):
    """A training run as its authors published it."""

    name: str
    inside: str  # the link between the GPUs of a node
    network: str  # and the one between nodes
    per_node: int
    gpus: int  # in all
    gradients: float  # bytes
    batch: int  # of one GPU
    rate: float  # images/s of one GPU
    efficiency: float


def _resnet50(name: str, gpus: int, batch: int, rate: float, together: float) -> Published:
    """ResNet-50 on the GPUs of one NVIDIA DGX, which reach `together` images/s."""
    name, efficiency = f"ResNet-50, {name}", together / gpus / rate
    return Published(name, "NVLink", "InfiniBand", gpus, gpus, 102e6, batch, rate, efficiency)


PUBLISHED = (
    _resnet50("DGX-1, FP32", 8, 128, 380.44, 2945.37),
    _resnet50("DGX-2, FP32", 16, 128, 402.23, 6263.41),
    _resnet50("DGX-1, mixed", 8, 256, 893.09, 6888.75),
    _resnet50("DGX A100, mixed", 8, 256, 2470, 16621),
    Published("ResNet-101, 128 servers", "PCIe", "25 Gbit/s", 4, 512, 178e6, 64, 1656.82 / 16, 0.9),
)
