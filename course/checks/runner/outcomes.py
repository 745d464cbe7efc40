"""The exceptions of the ranks of a check, and the outcome that each exception stands for."""

from course.checks.tools.hint import Undecided
from course.core import CourseError
from course.exercises import Outcome


class Rejected(AssertionError):
    """The learner's code failed on a rank; the message says where and how."""


class Deadlock(Rejected):
    """The ranks waited for each other until the time limit."""


class Unwritten(Exception):
    """The learner's code met an open TODO."""


class UnfitMachine(Exception):
    """The check cannot judge on this machine: it is too busy, or its torch is unknown."""


def outcome(error: BaseException | None) -> tuple[Outcome, str, bool]:
    """The outcome of a check, its message, and whether to run it again, by what it raised."""
    match error:
        case None:
            return Outcome.PASSED, "", False
        case Unwritten():
            return Outcome.OPEN, str(error), False
        case Undecided():
            return Outcome.NOT_JUDGED, str(error), False
        case UnfitMachine() | CourseError():
            return Outcome.NOT_JUDGED, str(error), True
        case AssertionError():
            return Outcome.FAILED, str(error), False
        case _:
            return Outcome.FAILED, f"{type(error).__name__}: {error}", False


def hint_fits(error: BaseException | None) -> bool:
    """Whether a check found a fault by comparing, so that its hint fits.

    A typo, a hang or an exception on the way there is reported without the hint.
    """
    if isinstance(error, Rejected):
        return "AssertionError" in str(error)
    return isinstance(error, AssertionError)
