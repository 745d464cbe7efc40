"""What this box has, and what the labs make of it: how many ranks, on which device, over which backend.

Nothing here imports torch or touches CUDA, so a notebook's kernel may ask before it forks its ranks. The folder
`doctor` judges whether the labs will run.
"""

from course.hardware.box import (
    GIB,
    Box,
    Card,
    backend,
    card,
    cores,
    device,
    gib,
    gpu_count,
    links,
    ranks,
)

__all__ = [
    "GIB",
    "Box",
    "Card",
    "backend",
    "card",
    "cores",
    "device",
    "gib",
    "gpu_count",
    "links",
    "ranks",
]
