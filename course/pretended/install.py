"""Put the pretended GPUs in the place of what torch has, in this process and for good."""

import threading

from course.pretended import nccl, tensors, torch_cuda


def install(count: int) -> None:
    """Be a process that sees `count` GPUs; raises `UnknownTorch` where torch is not as expected."""
    tensors.gpus.count = count
    tensors.install()
    torch_cuda.install()
    nccl.install()
    threading.Thread.run = tensors.everywhere(threading.Thread.run)
    tensors.Devices().__enter__()
