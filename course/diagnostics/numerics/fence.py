"""On a rank: keeps errors in our own probes out of the user's script."""

import os
import threading
from types import TracebackType

import torch


class Fence:
    """Surrounds each probe: an exception inside is noted under the probe's name, and ends there.

    Only the thread that made the fence is watched, and the one that computes gradients for it.
    """

    def __init__(self, unseen: dict[str, str]) -> None:
        self._unseen = unseen
        self.process, self._thread = os.getpid(), threading.get_ident()

    @property
    def is_ours(self) -> bool:
        """Whether this is the main thread of the rank, and not a worker that it forked."""
        return os.getpid() == self.process and threading.get_ident() == self._thread

    def around(self, name: str) -> "_Guard":
        """A context manager for one named probe."""
        return _Guard(name, self._unseen)


class _Guard:
    __slots__ = ("_grad", "_name", "_unseen")

    def __init__(self, name: str, unseen: dict[str, str]) -> None:
        self._name, self._unseen = name, unseen

    def __enter__(self) -> None:
        # Most hooks on gradients come here, and have it switched off already.
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
