"""The forms that all tools share: a cause that can be named, and a finding in a run."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One thing that was seen in a run, and what to do about it.

    `what` is the name of a `CauseInfo`. `says` describes what was seen, and `cure` how to fix
    this script, both in whole sentences. `lab` is the number of the lab that teaches the cause, or
    "". `rank` is the rank at fault, and `step` the step in which the fault began, if they are
    known. `where` is a line of the user's script, such as ``train.py:30``. A `note` is worth
    knowing but is not a fault, so it fails no run.
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
        """The fields as a dict for JSON, with None in place of each ""."""
        return {key: None if value == "" else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class CauseInfo:
    """A cause that a tool can name; its `summary` is half a sentence on what it is.

    `cure` and `lab` are the usual ones. A finding can have others, if the evidence calls for them.
    """

    name: str
    summary: str
    cure: str = ""
    lab: str = ""

    def finding(self, says: str, cure: str = "", lab: str = "", **fields: Any) -> Finding:
        """A finding of this cause; `fields` are the other fields of a `Finding`.

        An empty `cure` or `lab` stands for the usual one.
        """
        return Finding(self.name, says, cure or self.cure, lab or self.lab, **fields)
