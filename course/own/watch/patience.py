"""Watches a run from outside: is it time to end it, and what was seen last?"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from course.own.watch.processes import Processes, Seen

LOOK_S = 1.0  # how often the ranks' files are read
SETTLE_S = 3.0  # for a run of which ranks are being ended to end as a whole
TOLD_S = 30.0  # a run that has stood for so long will be ended: the user is told


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
        tell: Callable[[str], None],
    ) -> None:
        self._processes = Processes(folder)
        self._stood, self._patience, self._limit = stood, patience, limit
        self._began = time.monotonic()
        self._tell, self._told = tell, False
        self._looked = self._fewer = 0.0
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
        self._take(self._processes.ranks())
        stood = self._stood(self.ranks)
        if self._patience > TOLD_S < stood and not self._told:
            self._tell(
                f"No rank has moved for {stood:.0f} s. The run is ended when none has for "
                f"{self._patience:.0f} s; an interrupt ends it now, and says where they stand."
            )
        self._told = stood > TOLD_S
        self.over_patience = stood > self._patience
        self.over_limit = self._limit is not None and self.seconds > self._limit
        return self.over_patience or self.over_limit

    def _take(self, ranks: list[Seen]) -> None:
        """Keep what was seen while all lived, if they are being ended: that is what counts."""
        living = {seen.rank for seen in ranks if seen.alive is not False}
        fewer = {seen.rank for seen in self.ranks if seen.alive is not False} - living
        now = time.monotonic()
        self._fewer = (self._fewer or now) if fewer else 0.0
        if not fewer or now - self._fewer > SETTLE_S:
            self.ranks, self._fewer = ranks, 0.0

    def last(self) -> list[Seen]:
        """The ranks of a run that has ended by itself."""
        self.ranks = self._processes.ranks()
        return self.ranks
