"""In the supervisor: the phases of a run, and their order. Touches no process.

    RUNNING ──── the client stops it or is gone, the launcher was killed ────> ENDING ─┐ GRACE_S
       └──────── the time limit comes ─────────────────────────────> STACKS ──┐        │
                                                                     STACKS_S └────────┴─> KILLING

A run is over, in whatever phase, when no process of it is left.
"""

from enum import Enum, auto

from course.launch.messages import Reason

GRACE_S = 3.0  # from the polite signal to SIGKILL
STACKS_S = 10.0  # for the ranks to write their stacks, which on a busy machine takes a while


class Phase(Enum):
    """The phase of a run: what happens to its processes."""

    RUNNING = auto()  # they do their work
    ENDING = auto()  # they were asked to end, as Ctrl-C does
    STACKS = auto()  # their time is up, and they write where they are
    KILLING = auto()  # whatever is left of them is killed, again and again


class Phases:
    """The phase of one run, and the reason for which it ends; times are `time.monotonic`'s."""

    def __init__(self) -> None:
        self.phase = Phase.RUNNING
        self.reason = Reason.FINISHED
        self._until: float | None = None  # when the phase ends by itself

    def limit(self, until: float) -> None:
        """End the run at that time, unless this is called again, or it ends earlier."""
        if self.phase == Phase.RUNNING:
            self._until = until

    def ask(self, reason: Reason, now: float) -> bool:
        """Begin to end the run for this reason; False if it is ending already."""
        if self.phase != Phase.RUNNING:
            return False
        self.phase, self.reason, self._until = Phase.ENDING, reason, now + GRACE_S
        return True

    def over(self, now: float) -> bool:
        """Whether the phase has just ended by itself; `phase` is the next one then."""
        if self._until is None or now <= self._until:
            return False
        if self.phase == Phase.RUNNING:
            self.phase, self.reason, self._until = Phase.STACKS, Reason.LIMIT, now + STACKS_S
        else:
            self.phase, self._until = Phase.KILLING, None
        return True
