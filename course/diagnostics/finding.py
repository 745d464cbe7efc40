"""The forms that all questions share: what can be named, and what was seen of it in a run."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One thing that was seen in a run, and what to do about it.

    `what` is the name of a `CauseInfo`. `rank` and `step` name the rank on which it lies, and the
    step since which, if there is one. `where` is a line of the user's script, as ``train.py:30``.
    `says` describes what was seen, and `cure` what this script can do about it, both in whole
    sentences.
    `lab` is the number of the lab that teaches it, "" if none does. A `note` is worth knowing and
    not a fault, so it fails no run.
    """

    what: str
    says: str
    cure: str = ""
    lab: str = ""
    rank: int | None = None
    step: int | None = None
    where: str = ""
    note: bool = False

    def plain(self) -> dict[str, object]:
        """As JSON; what is unknown is null."""
        return {key: None if value == "" else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class CauseInfo:
    """A cause that a question can name: its `name`, and half a sentence on what it is.

    `cure` and `lab` are the usual ones. Evidence that calls for others gives its own.
    """

    name: str
    summary: str
    cure: str = ""
    lab: str = ""

    def finding(self, says: str, cure: str = "", lab: str = "", **place: Any) -> Finding:
        """What was seen of it, with its cure and lab; `place` has the other fields of a finding."""
        return Finding(self.name, says, cure or self.cure, lab or self.lab, **place)
