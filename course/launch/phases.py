"""In the supervisor: the phases of a run and their order, as plain state without processes.

    RUNNING ──── the client stops it or is gone, the launcher was killed ────> ENDING ─┐ GRACE_S
       └──────── the time limit comes ─────────────────────────────> STACKS ──┐        │
                                                                     STACKS_S └────────┴─> KILLING

In any phase, a run is over as soon as none of its processes is left.
"""

from enum import Enum, auto

from course.launch.messages import Reason

GRACE_S = 3.0  # from SIGINT to SIGKILL
STACKS_S = 10.0  # for the ranks to write their stacks, which on a busy machine takes a while


class Phase(Enum):
    """The phase of a run: what happens to its processes."""

    RUNNING = auto()  # they do their work
    ENDING = auto()  # they were asked to end, as Ctrl-C does
    STACKS = auto()  # their time is up, and they write their stacks
    KILLING = auto()  # whatever is left of them is killed, again and again


class Phases:
    """The phase of one run, and why the run ends; all times are from `time.monotonic`."""

    def __init__(self) -> None:
        self.phase = Phase.RUNNING
        self.reason = Reason.FINISHED
        self._until: float | None = None  # when the time of the phase is up

    def set_limit(self, until: float) -> None:
        """Set or change the time at which the run is ended; no effect once it is ending."""
        if self.phase == Phase.RUNNING:
            self._until = until

    def begin_ending(self, reason: Reason, now: float) -> bool:
        """Begin to end the run for this reason; return False if it is ending already."""
        if self.phase != Phase.RUNNING:
            return False
        self.phase, self.reason, self._until = Phase.ENDING, reason, now + GRACE_S
        return True

    def advance(self, now: float) -> bool:
        """Go on to the next phase if the time of this one is up; return whether it was."""
        if self._until is None or now <= self._until:
            return False
        if self.phase == Phase.RUNNING:
            self.phase, self.reason, self._until = Phase.STACKS, Reason.LIMIT, now + STACKS_S
        else:
            self.phase, self._until = Phase.KILLING, None
        return True
