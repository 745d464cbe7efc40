"""Switch the pretended GPUs on, or raise an error if this torch is not as expected."""

import threading

import torch
from torch.distributed import ProcessGroup, distributed_c10d

from course.core import UnknownTorch, insides

# Names used later, where a missing one would give a traceback; `tensors.replace` checks others.
USED = (
    (torch.ScriptObject, "_type"),
    (torch._C._nn, "_parse_to"),
    (distributed_c10d, "_new_process_group_helper"),
    (distributed_c10d, "_get_object_coll_device"),
    (ProcessGroup, "_get_backend"),
    (ProcessGroup, "_register_backend"),
)


def pretend_gpus(count: int) -> None:
    """Make this process see `count` GPUs from now on.

    Raises `UnknownTorch` for a torch that is not as expected.
    """
    for home, name in USED:
        insides.inside(home, name)
    try:
        # These import names that another torch may lack.
        from course.pretended import nccl, tensors, torch_cuda
    except ImportError as error:
        raise UnknownTorch(
            f"torch {torch.__version__} lacks what pretended GPUs are made of: {error}."
        ) from error
    tensors.gpus.count = count
    tensors.install()
    torch_cuda.install()
    nccl.install()
    threading.Thread.run = tensors.watching_thread(threading.Thread.run)
    tensors.Devices().__enter__()


def pretend_torch_cuda(count: int) -> None:
    """Make `torch.cuda` report `count` GPUs from now on; tensors stay as they are."""
    from course.pretended import tensors, torch_cuda

    tensors.gpus.count = count
    torch_cuda.install()
