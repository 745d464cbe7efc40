"""What this box has, and what the labs make of it: how many ranks, on which device and backend.

Nothing here imports torch or touches CUDA, so a notebook's kernel may ask before it forks its
ranks. The folder `doctor` judges whether the labs will run.
"""

from course.hardware.box import Box, backend, cores, device, gpu_count, ranks
from course.hardware.box_card import Card, card

__all__ = ["Box", "Card", "backend", "card", "cores", "device", "gpu_count", "ranks"]
