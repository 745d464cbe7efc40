"""Intercept the functions that code calls, above all those of torch.distributed."""

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

# `send` and `batch_isend_irecv` look up the functions that they call in the second module.
HOMES = (dist, distributed_c10d)

Function = Callable[..., Any]
Around = Callable[[str, Function, tuple[Any, ...], dict[str, Any]], Any]


@contextmanager
def intercepted(
    around: Around, names: Iterable[str], homes: Iterable[object] = HOMES
) -> Iterator[None]:
    """Within the block, turn each call of these functions into ``around(name, real, args, kw)``.

    `homes` are the modules or classes in which the names are looked up; each keeps its own function
    of a name. Calls made from within `around`, in the same thread, reach the real functions.
    """
    thread = threading.local()

    def instead_of(name: str, real: Function) -> Function:
        @functools.wraps(real)
        def call(*args: object, **kwargs: object) -> object:
            if getattr(thread, "within", False):
                return real(*args, **kwargs)
            thread.within = True
            try:
                return around(name, real, args, kwargs)
            finally:
                thread.within = False

        return call

    known = [(home, name) for home in homes for name in names if hasattr(home, name)]
    real = [(home, name, getattr(home, name)) for home, name in known]
    ours = {id(function): instead_of(name, function) for _, name, function in real}
    for home, name, function in real:
        setattr(home, name, ours[id(function)])
    try:
        yield
    finally:
        for home, name, function in real:
            setattr(home, name, function)
