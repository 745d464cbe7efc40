"""Find what a call leaves behind: messages that it did not wait for, process groups, tensors."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from course.checks.tools.hint import Undecided
from course.checks.tools.leaks import CALLS, count_leaks
from course.checks.tools.recorder import RECORDED
from course.core import insides, interceptor

tree_map_only = insides.inside(insides.module("torch.utils._pytree"), "tree_map_only")
SENDS = ("isend",)
# Even without any delay; an answer that equals this sentence makes the check undecided.
WRONG = "the result is wrong"
LATE_TOO = " when messages arrive late: if only then, it reads a tensor before it waits"
MESSAGES = (*SENDS, "irecv")  # `send`, `recv` and `batch_isend_irecv` call these
CAN_WAIT = tuple(
    name for name in RECORDED if "async_op" in inspect.signature(getattr(dist, name)).parameters
)


class LateWork:
    """The handle of a call that has begun; what it receives arrives only with `wait`.

    `blocked` is whether code has blocked on it, and `arrived` whether it was waited for in any way,
    even by a callback of its future. `changed` is whether a tensor changed while it was being sent.
    """

    def __init__(self, name: str, begin: Callable[..., Any], args: tuple, kwargs: dict) -> None:
        self.name, self.blocked, self.arrived, self.changed = name, False, False, False
        self._tensors: list[tuple[Tensor, Tensor]] = []  # the caller's, and what travels instead
        args, kwargs = tree_map_only(Tensor, self._stand_in, (args, kwargs))
        self._work = begin(*args, **kwargs)

    def _stand_in(self, tensor: Tensor) -> Tensor:
        self._tensors.append((tensor, tensor.clone()))
        return self._tensors[-1][1]

    def wait(self, *args: object) -> object:
        """Wait for the call, and put what it received into the caller's tensors."""
        self.blocked = True
        done = self._work.wait(*args)
        self._arrive()
        return done

    def is_completed(self) -> bool:
        """Whether the call is done; if so, the caller's tensors have the received data."""
        if self._work.is_completed():
            self._arrive()
        return self.arrived

    def get_future(self) -> torch.futures.Future:
        """A future of the call; once it is done, the caller's tensors have the received data."""
        future = _NotingFuture(self)

        def pass_on(done: torch.futures.Future) -> None:
            self._arrive()
            try:
                future.set_result(done.value())
            except RuntimeError as error:
                future.set_exception(error)

        self._work.get_future().add_done_callback(pass_on)
        return future

    def _arrive(self) -> None:
        if self.arrived:
            return
        self.arrived = True
        for tensor, travelled in self._tensors:
            if self.name in SENDS:
                self.changed |= not torch.equal(_bytes(tensor), _bytes(travelled))
            else:
                tensor.detach().copy_(travelled)


class _NotingFuture(torch.futures.Future):
    """A future that notes in the handle of its call when code blocks on it."""

    def __init__(self, handle: LateWork) -> None:
        super().__init__()
        self._handle = handle

    def wait(self) -> object:
        """Wait for the call."""
        self._handle.blocked = True
        return super().wait()


@contextmanager
def late() -> Iterator[list[LateWork]]:
    """Within this context, every message arrives as late as it may: when it is waited for.

    The list has the handles of all calls that do not block.
    """
    begun: list[LateWork] = []

    def begin(name: str, real: Callable[..., Any], args: tuple, kwargs: dict) -> object:
        arguments = inspect.signature(real).bind(*args, **kwargs).arguments
        if name not in MESSAGES and not arguments.get("async_op"):
            return real(*args, **kwargs)
        begun.append(LateWork(name, real, args, kwargs))
        return begun[-1]

    with interceptor.intercepted(begin, (*CAN_WAIT, *MESSAGES)):
        yield begun


def describe_loose_ends(call: Callable[[], bool]) -> str:
    """What `call` leaves undone or behind, as the end of a sentence; "" if nothing.

    `call` runs the learner's code and says whether its result is right. All ranks call this; none
    stops before the others have made their last call.
    """
    leftover = describe_leaks(call)
    with late() as begun:
        right = call()
    not_awaited = [handle.name for handle in begun if not handle.arrived]
    if not_awaited:
        return f"it does not wait for {len(not_awaited)} of {len(begun)} calls ({not_awaited[0]})"
    if any(handle.changed for handle in begun):
        return "it changes a tensor that isend may still be sending: first wait, then change it"
    if not right:
        return WRONG + (LATE_TOO if begun else "")
    return leftover


def undecided_where_wrong(by_rank: Iterable[str]) -> None:
    """Raise `Undecided` if a result is wrong without any delay: another check compares results."""
    if WRONG in by_rank:
        raise Undecided("first, the result must be right without any delay: see above")


def describe_leaks(call: Callable[[], object]) -> str:
    """What further calls leave in memory for good, as the end of a sentence; "" if nothing."""
    tensors, groups = count_leaks(lambda number: call())
    if groups:
        return f"{CALLS} calls leave {groups} process groups behind: make them once, outside"
    if tensors:
        return f"{CALLS} calls leave {tensors} tensors in memory that are no longer needed"
    return ""


def _bytes(tensor: Tensor) -> Tensor:
    """A tensor as bytes, so that a NaN equals itself."""
    return tensor.contiguous().view(-1).view(torch.uint8)
