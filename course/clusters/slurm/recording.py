"""Replay a recording of Slurm's commands, with the answers of a real cluster.

A recording is a list of answers, each with its command, its time and its text. The recording has a
clock. It advances when something waits, and jumps to the recorded time of a command that changes
something, such as a submission. So cells may run in any order.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from course.clusters.slurm.commands import Commands, Refused, meaning

FILE = Path(__file__).with_name("recording.json")
# The beginnings of commands that change nothing, whose answers depend on the clock.
READ_ONLY = ("squeue --json", "scontrol --oneliner show", "scontrol ping", "sacct")


@dataclass
class Recording(Commands):
    """Answers from `entries`; `about` is a note on the cluster that gave them."""

    entries: list[dict]
    about: str
    clock: float = 0.0

    @classmethod
    def load(cls, file: Path = FILE) -> "Recording":
        """Read a file of JSON lines: the time when the recording begins, a note, the entries."""
        lines = file.read_text(encoding="utf-8").splitlines()
        begin, about, *entries = (json.loads(line) for line in lines)
        return cls(entries, about, begin)

    @property
    def recorded(self) -> str:
        """The note to show next to the answers."""
        return self.about

    def tasks(self) -> list[dict[str, str]]:
        """The variables that Slurm set for some of the four tasks of a job on two nodes."""
        return json.loads(next(entry["text"] for entry in self.entries if entry["key"] == "tasks"))

    def run(self, *words: str, stdin: str | None = None) -> str:
        """The cluster's answer at this time of the recording.

        Raises `Refused` if Slurm refused, or if the command was not recorded.
        """
        key = _key(words, stdin)
        entry = self._find(key)
        if entry is None:
            raise Refused(
                f"This is a recording, and `{key}` is not in it: that takes a real Slurm.", ""
            )
        if not key.startswith(READ_ONLY):
            self.clock = entry["at"]
        if entry.get("error"):
            raise Refused(meaning(words[0], entry["error"]), entry["error"])
        return entry["text"]

    def read(self, path: str) -> str | None:
        """The text of a file at this time; each of its entries is what was appended to it."""
        parts = [
            e["text"] for e in self.entries if e["key"] == f"read {path}" and e["at"] <= self.clock
        ]
        return "".join(parts) if parts else None

    def now(self) -> float:
        """The recording's clock."""
        return self.clock

    def pause(self, seconds: float) -> None:
        """Advance the recording's clock, without a real wait."""
        self.clock += seconds

    def _find(self, key: str) -> dict | None:
        """The last answer to a command before this time of the recording; None if there is none.

        A command that changes something has only one answer, whatever its time.
        """
        entries = [entry for entry in self.entries if entry["key"] == key]
        if key.startswith(READ_ONLY):
            entries = [entry for entry in entries if entry["at"] <= self.clock]
        return entries[-1] if entries else None


def _key(words: tuple[str, ...], stdin: str | None = None) -> str:
    """The key of a command in the recording.

    It has no job numbers, since the recorded answer has the whole queue, and the key of an sbatch
    file is its job's name.
    """
    stable = [
        word for word in words if not word.startswith(("--jobs=", "--starttime=", "--states="))
    ]
    if name := re.search(r"--job-name=(\S+)", stdin or ""):
        stable.append(name[1])
    return " ".join(stable)
