"""On a rank: keep errors of our own probes out of the user's script."""

import os
import threading
from types import TracebackType

import torch


class Fence:
    """Surrounds each probe: notes an exception under the probe's name and suppresses it.

    `unseen` collects the first error of each probe. Gradients are off inside the fence.
    """

    def __init__(self, unseen: dict[str, str]) -> None:
        self._unseen = unseen
        self.process, self._thread = os.getpid(), threading.get_ident()

    @property
    def is_ours(self) -> bool:
        """Whether this is the thread that made the fence, in the rank itself and not in a fork."""
        return os.getpid() == self.process and threading.get_ident() == self._thread

    def around(self, name: str) -> "_Guard":
        """A context manager for one named probe."""
        return _Guard(name, self._unseen)


class _Guard:
    __slots__ = ("_grad", "_name", "_unseen")

    def __init__(self, name: str, unseen: dict[str, str]) -> None:
        self._name, self._unseen = name, unseen

    def __enter__(self) -> None:
        # Hooks on gradients enter here very often, and gradients are already off in them.
        self._grad = torch.no_grad() if torch.is_grad_enabled() else None
        if self._grad:
            self._grad.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if self._grad:
            self._grad.__exit__(None, None, None)
        if error is None or not isinstance(error, Exception):
            return False
        self._unseen.setdefault(self._name, f"{type(error).__name__}: {error}"[:120])
        return True
