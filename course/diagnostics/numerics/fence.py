"""On a rank: keep errors of our own probes out of the user's script."""

import functools
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch

HOOKS = "hooks"  # the name under which errors of hooks outside named probes are noted


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
        return _Guard(name, self)

    def note(self, name: str, error: Exception) -> None:
        """Note an exception of a probe; the first one of each name is kept."""
        self._unseen.setdefault(name, f"{type(error).__name__}: {error}"[:120])

    def guard(self, hook: Callable[..., None]) -> Callable[..., None]:
        """The same hook, to give to torch or Python; no exception of it reaches the script.

        Unlike inside `around`, gradients stay on, so that the hook sees whether the script uses
        them. No function of the script may be called in it.
        """

        @functools.wraps(hook)
        def call(*args: Any, **kwargs: Any) -> None:
            try:
                hook(*args, **kwargs)
            except Exception as error:
                self.note(HOOKS, error)

        return call


class _Guard:
    __slots__ = ("_fence", "_grad", "_name")

    def __init__(self, name: str, fence: Fence) -> None:
        self._name, self._fence = name, fence

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
        self._fence.note(self._name, error)
        return True
