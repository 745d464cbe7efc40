"""Count what a rank hands to its collectives, so that ways to train can be compared by bytes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor

from course.core import interceptor

# The place of the tensor that a rank gives, among the arguments.
GIVES = {"all_reduce": 0, "all_gather_into_tensor": 1, "all_gather_single": 1}


@dataclass
class Sent:
    """The messages of a rank and their bytes, as it hands them over, before any algorithm."""

    messages: int = 0
    nbytes: int = 0


@contextmanager
def counted() -> Iterator[Sent]:
    """Count this rank's all-reduces and all-gathers while it is entered.

    Calls from Python count, those from DDP's own C++ do not: give DDP a communication hook.
    """
    total = Sent()

    def note(name: str, real: Callable, args: tuple, kwargs: dict) -> object:
        given: Tensor = args[GIVES[name]]
        total.messages += 1
        total.nbytes += given.nbytes
        return real(*args, **kwargs)

    with interceptor.intercepted(note, GIVES):
        yield total
