"""What became of one check: plain data that everyone reads."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What became of one check."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"  # it met a TODO
    NOT_JUDGED = "not judged"  # nothing is known of the code


@dataclass(frozen=True)
class Result:
    """One check: `claim` says what holds when it passes, the rest is for when it does not.

    `printed` is what the learner's code wrote meanwhile, each line with its rank. `again` is true
    where nothing was judged for a reason that lies outside the code, such as a busy machine.
    """

    check: str
    claim: str
    outcome: Outcome
    message: str = ""
    hint: str = ""
    printed: str = ""
    again: bool = False
