"""What a check of the doctor finds: a level, and one sentence with the fix.

Three levels: *ok*; *note*, where the labs run but something is worth knowing; *broken*, where they
cannot run, or where two or more GPUs stand idle that they should run on.
"""

from dataclasses import dataclass

OK, NOTE, BROKEN = "ok", "note", "broken"


@dataclass(frozen=True)
class Finding:
    """What a check found: its level and one sentence, with the fix where something needs one."""

    level: str
    text: str


def ok(text: str) -> Finding:
    """All is well, and this is what was found."""
    return Finding(OK, text)


def note(text: str) -> Finding:
    """The labs run, but this is worth knowing."""
    return Finding(NOTE, text)


def broken(text: str) -> Finding:
    """The labs cannot run, or not on the GPUs."""
    return Finding(BROKEN, text)
