"""What the GPUs of a machine have in common, so that all ranks decide alike if GPUs differ."""

import torch


def capability() -> tuple[int, int]:
    """The compute capability of the oldest visible GPU, such as (7, 5); (0, 0) without a GPU."""
    gpus = range(torch.cuda.device_count())
    return min(map(torch.cuda.get_device_capability, gpus), default=(0, 0))
