"""Watch a run from outside: decide when to end it, and keep the last states of its ranks."""

import time
from collections.abc import Callable
from pathlib import Path

from course.diagnostics.run import progress
from course.diagnostics.run.ending import (
    HUNG,
    INTERRUPTED,
    ITSELF,
    LIMIT,
    STOPPED,
    RunEnding,
    ending_of,
)
from course.diagnostics.run.thresholds import (
    HUNG_AFTER_S,
    MAX_DELAY_S,
    PAUSE_FACTOR,
    WARN_AFTER_S,
    WORKING_BELOW_S,
)
from course.diagnostics.watch.rank_states import RankReader, RankState
from course.diagnostics.watch.thresholds import SNAPSHOT_S
from course.launch import process_tree

SETTLE_S = 3.0  # for the whole run to end, once its first rank has ended


class Patience:
    """Decides that a run must end: at its limit, or once it has hung for `patience` seconds.

    With `extends_limit`, the limit is extended by the time in which a rank waited for a core. It is
    also put off briefly while it is unclear whether the run hangs. `tell` shows a warning to
    the user. `ranks` has the last states of the ranks. `own` is the folder of the ranks that this
    command started, as for `RankReader`.
    """

    def __init__(
        self,
        folder: Path,
        tell: Callable[[str], None],
        patience: float,
        limit: float | None = None,
        extends_limit: bool = False,
        own: Path | None = None,
    ) -> None:
        self._reader = RankReader(folder, own)
        self._tell, self._patience = tell, patience
        self.limit, self._extends_limit = limit, extends_limit
        self._began = time.monotonic()
        self._read_at = self._fewer_since = self._extension = 0.0
        self._has_warned = False
        self._stalled_s = self._longest_pause_s = 0.0
        self.ranks: list[RankState] = []
        self.over_patience = self.over_limit = False

    def begin(self, limit: float | None) -> None:
        """Start the clock now, and set the limit in seconds."""
        self.limit, self._began = limit, time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    @property
    def hung_after_s(self) -> float:
        """Seconds without progress after which the run clearly hangs, judging by its past."""
        return min(max(HUNG_AFTER_S, PAUSE_FACTOR * self._longest_pause_s), WARN_AFTER_S)

    def is_over(self) -> bool:
        """Whether the run must be ended; the ranks' files are read at most twice a second."""
        if time.monotonic() - self._read_at < SNAPSHOT_S:
            return False
        self._read_at = time.monotonic()
        self._take(self._reader.ranks())
        stalled_s = progress.stalled_s(self.ranks)
        if stalled_s < self._stalled_s:  # the run went on
            self._longest_pause_s = max(self._longest_pause_s, self._stalled_s)
        self._stalled_s = stalled_s
        self._warn(stalled_s)
        self.over_patience = stalled_s > self._patience
        self.over_limit = self.limit is not None and self._is_over_limit(self.limit, stalled_s)
        return self.over_patience or self.over_limit

    def how_ended(self, interrupted: bool, saw_enough: bool) -> str:
        """How a run has ended that was watched until then, as one of the constants of `ending`."""
        if interrupted:
            return INTERRUPTED
        if saw_enough:
            return STOPPED
        if self.over_patience:
            return HUNG
        return LIMIT if self.over_limit else ITSELF

    def ending(self, ended: str, code: int | None) -> RunEnding:
        """Describe a run that has `ended` so, with exit `code`, by the last states of its ranks."""
        if ended == ITSELF:
            self.ranks = self._reader.ranks()
        seconds = self.limit if ended == LIMIT and self.limit else self.seconds
        return ending_of(self.ranks, ended, code, seconds, self.hung_after_s)

    def _is_over_limit(self, limit: float, stalled_s: float) -> bool:
        late = self.seconds - limit
        if late < 0:
            return False
        if self._extends_limit:
            living = [rank.snapshot.pid for rank in self.ranks if rank.alive]
            self._extension = max(self._extension, process_tree.extension(living, limit))
            late -= self._extension
        is_clear = not self.ranks or stalled_s < WORKING_BELOW_S or stalled_s >= self.hung_after_s
        return late > (0 if is_clear else MAX_DELAY_S)

    def _warn(self, stalled_s: float) -> None:
        if self._patience > WARN_AFTER_S < stalled_s and not self._has_warned:
            self._tell(
                f"No rank has moved for {stalled_s:.0f} s. The run is ended when none has for "
                f"{self._patience:.0f} s; an interrupt ends it now, and says where they stand."
            )
        self._has_warned = stalled_s > WARN_AFTER_S

    def _take(self, ranks: list[RankState]) -> None:
        """Take new states, except while ranks are being ended: what they did before that counts."""
        living = {state.rank for state in ranks if state.alive is not False}
        fewer = {state.rank for state in self.ranks if state.alive is not False} - living
        now = time.monotonic()
        self._fewer_since = (self._fewer_since or now) if fewer else 0.0
        if not fewer or now - self._fewer_since > SETTLE_S:
            self.ranks, self._fewer_since = ranks, 0.0
