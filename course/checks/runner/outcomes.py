"""What a check may raise, and what each of it says of the learner's code."""

from course.core import CourseError
from course.exercises import Outcome


class Rejected(AssertionError):
    """The learner's code failed on a rank; the message says where and how."""


class Deadlock(Rejected):
    """The ranks waited for each other until the time limit."""


class Unwritten(Exception):
    """The learner's code met an open TODO."""


class NotJudged(Exception):
    """The machine did not let the check judge: it was too busy, or its torch is not known."""


class Undecided(Exception):
    """The check builds on what another check refutes, so it has nothing to say of its own."""


def outcome(error: BaseException | None) -> tuple[Outcome, str, bool]:
    """What became of a check that raised this, what it says, and whether to ask it again."""
    match error:
        case None:
            return Outcome.PASSED, "", False
        case Unwritten():
            return Outcome.OPEN, str(error), False
        case Undecided():
            return Outcome.NOT_JUDGED, str(error), False
        case NotJudged() | CourseError():
            return Outcome.NOT_JUDGED, str(error), True
        case AssertionError():
            return Outcome.FAILED, str(error), False
        case _:
            return Outcome.FAILED, f"{type(error).__name__}: {error}", False


def is_found_by_the_check(error: BaseException | None) -> bool:
    """Whether a check compared and found a fault, which its hint is about.

    A typo, a hang or an exception on the way there is told as it is.
    """
    if isinstance(error, Rejected):
        return "AssertionError" in str(error)
    return isinstance(error, AssertionError)
