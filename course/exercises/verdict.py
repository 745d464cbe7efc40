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
    """One check: `claim` says what holds when it passes, the rest is for when it does not.

    `printed` is what the learner's code printed meanwhile, each line with its rank. `again` is true
    if nothing was judged for a reason outside the code, such as a busy machine.
    """

    check: str
    claim: str
    outcome: Outcome
    message: str = ""
    hint: str = ""
    printed: str = ""
    again: bool = False
