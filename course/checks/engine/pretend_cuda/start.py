"""Let this process pretend, from now on and for good."""

import threading

from course.checks.engine.pretend_cuda import nccl, tensors, torch_cuda


def pretend_gpus(count: int) -> None:
    """Be a process that sees `count` GPUs; raises `CourseError` where torch is not as expected."""
    tensors.gpus.count = count
    tensors.install()
    torch_cuda.install()
    nccl.install()
    threading.Thread.run = tensors.everywhere(threading.Thread.run)
    tensors.Devices().__enter__()
