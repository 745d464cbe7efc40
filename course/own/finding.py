"""The form of everything that a question finds: for people, for programs and for CI."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was seen in a run, and what to do about it.

    `what` is its name, from a list that each question documents. `rank` and `step` name the rank
    on which it lies, and the step since which, if there is one. `where` is a line of the user's
    script, as ``train.py:30``. `says` describes what was seen, and `cure` what this script can do
    about it, both in whole sentences. `lab` is the number of the lab that teaches it, "" if none
    does. A `note` is worth knowing and not a fault, so it fails no run.
    """

    what: str
    says: str
    cure: str = ""
    lab: str = ""
    rank: int | None = None
    step: int | None = None
    where: str = ""
    note: bool = False

    def plain(self) -> dict:
        """As JSON; what is unknown is null."""
        return {key: None if value == "" else value for key, value in asdict(self).items()}
