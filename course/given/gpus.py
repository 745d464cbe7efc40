"""What the GPUs of a box have in common, so that all its ranks decide alike where they differ."""

import torch


def capability() -> tuple[int, int]:
    """The compute capability of the oldest visible GPU, such as (7, 5); (0, 0) without a GPU."""
    gpus = range(torch.cuda.device_count())
    return min(map(torch.cuda.get_device_capability, gpus), default=(0, 0))
