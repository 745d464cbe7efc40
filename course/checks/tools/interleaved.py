"""A store that another thread uses between two calls, at a moment that the check chooses."""

import threading
from collections.abc import Callable, Collection
from typing import Any

WAIT_S = 2.0  # seconds for the rival to finish; if it must wait for the caller, it goes on later


class Interleaved:
    """Stands for a store: before its call number `before` (from 0), the `rival` runs.

    `names` are the methods that count as a call; `calls` says how many there were.
    """

    def __init__(
        self, store: Any, names: Collection[str], before: int, rival: threading.Thread
    ) -> None:
        self._store, self._names = store, names
        self._before, self._rival = before, rival
        self.calls = 0

    def finish(self) -> None:
        """Start the rival now if it has not started, and wait for its end."""
        if self._rival.ident is None:
            self._rival.start()
        self._rival.join(10 * WAIT_S)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._store, name)
        return self._counted(member) if name in self._names else member

    def _counted(self, call: Callable) -> Callable:
        def counted(*args: Any, **kwargs: Any) -> Any:
            if self.calls == self._before:
                self._rival.start()
                self._rival.join(WAIT_S)
            self.calls += 1
            return call(*args, **kwargs)

        return counted
