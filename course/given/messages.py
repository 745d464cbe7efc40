"""Single messages, and tensors of any shape seen as flat ones."""

from collections.abc import Callable
from functools import wraps

import torch.distributed as dist
from torch import Tensor

AllReduce = Callable[[Tensor], None]


def deliver(messages: list[dist.P2POp]) -> None:
    """Start these messages together and return when all are done.

    In a world of one rank there are none.
    """
    for work in dist.batch_isend_irecv(messages) if messages else []:
        work.wait()


def in_place(add_up: AllReduce) -> AllReduce:
    """Pass any tensor to `add_up` as a flat one, and change the tensor itself."""

    @wraps(add_up)
    def all_reduce(tensor: Tensor) -> None:
        flat = tensor.contiguous().view(-1)  # a copy only if the memory has gaps
        add_up(flat)
        if not tensor.is_contiguous():
            tensor.copy_(flat.view_as(tensor))

    return all_reduce
