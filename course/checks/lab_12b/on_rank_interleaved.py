"""Let another thread use a store between two calls, at a moment that the check chooses."""

import threading
from collections.abc import Callable, Collection
from typing import Any

WAIT_S = 2.0  # for the rival to finish; a rival that must wait for the caller goes on later


class Interleaved:
    """A stand-in for a store that runs the thread `rival` before call number `before` (from 0).

    `names` are the methods that count as calls, and `calls` is the number of calls so far.
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
