"""The result of one of the doctor's checks: a level, and one sentence with the fix.

There are three levels: *ok*; *note*, if the labs run but something is worth knowing; *broken*, if
they cannot run, or if two or more GPUs that they should use stand idle.
"""

from dataclasses import dataclass

OK, NOTE, BROKEN = "ok", "note", "broken"


@dataclass(frozen=True)
class CheckResult:
    """The result of a check: its level and one sentence, with the fix if one is needed."""

    level: str
    text: str


def ok(text: str) -> CheckResult:
    """Report that all is well."""
    return CheckResult(OK, text)


def note(text: str) -> CheckResult:
    """Report something worth knowing, although the labs run."""
    return CheckResult(NOTE, text)


def broken(text: str) -> CheckResult:
    """Report that the labs cannot run, or not on the GPUs."""
    return CheckResult(BROKEN, text)
