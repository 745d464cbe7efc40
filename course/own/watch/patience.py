"""Watches a run from outside: is it time to end it, and what was seen last?"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from course.own.watch.processes import Processes, Seen

LOOK_S = 1.0  # how often the ranks' files are read


class Patience:
    """Ends a run at its `limit`, or when `stood` says that it has stood still for `patience`.

    `ended` is then the reason, else None; `ranks` are those of the last look. Times in seconds.
    """

    def __init__(
        self,
        folder: Path,
        stood: Callable[[Sequence[Seen]], float],
        patience: float,
        limit: float | None,
    ) -> None:
        self._processes = Processes(folder)
        self._stood, self._patience, self._limit = stood, patience, limit
        self._began = time.monotonic()
        self._looked = 0.0
        self.ranks: list[Seen] = []
        self.over_patience = self.over_limit = False

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self._began

    def look(self) -> bool:
        """Whether the run is to be ended; the files are read once a second."""
        if time.monotonic() - self._looked < LOOK_S:
            return False
        self._looked = time.monotonic()
        self.ranks = self._processes.ranks()
        self.over_patience = self._stood(self.ranks) > self._patience
        self.over_limit = self._limit is not None and self.seconds > self._limit
        return self.over_patience or self.over_limit

    def last(self) -> list[Seen]:
        """The ranks of a run that has ended by itself."""
        self.ranks = self._processes.ranks()
        return self.ranks
