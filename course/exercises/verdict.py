"""The result of one check: plain data for every other package."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The way in which one check ended."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"  # it met a TODO
    NOT_JUDGED = "not judged"  # nothing is known about the code


@dataclass(frozen=True)
class Result:
    """One check: `claim` says what is true if it passes, the other texts are for when it fails.

    `printed` is what the learner's code printed during the check, each line with its rank. `again`
    asks to run the check again, because something outside the code, such as a busy machine, kept it
    from judging.
    """

    check: str
    claim: str
    outcome: Outcome
    message: str = ""
    hint: str = ""
    printed: str = ""
    again: bool = False
