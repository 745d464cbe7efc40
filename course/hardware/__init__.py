"""The hardware of this machine, and the ranks, device and backend that the labs use on it.

Nothing here imports torch or touches CUDA, so a notebook's kernel may call it before it forks its
ranks. The folder `doctor` judges whether the labs will run.
"""

from course.hardware.machine import Machine, backend, cores, device, gpu_count, ranks
from course.hardware.machine_card import Card, card

__all__ = ["Card", "Machine", "backend", "card", "cores", "device", "gpu_count", "ranks"]
