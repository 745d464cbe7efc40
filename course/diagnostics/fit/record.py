"""What a ledger notes, as plain data, so that it can be read in a process without torch."""

from dataclasses import asdict, dataclass, field
from typing import Any

Plain = dict[str, Any]  # what goes from process to process as JSON

# The first that applies is what a storage is for.
KINDS = ("weights", "gradients", "optimizer", "buffers", "activations", "other")


@dataclass
class Storage:
    """A piece of memory: its size in bytes, the line that made it, and its kind."""

    nbytes: int
    line: str
    kind: str
    on_gpu: bool = False


@dataclass(frozen=True)
class Message:
    """A collective, if a ring of its ranks carries it.

    `when` is the number of events before it, `hops` how many messages follow one another, and
    `nbytes` what they carry: the least that each rank must send.
    """

    when: int
    hops: int
    nbytes: float


@dataclass
class Record:
    """All that was noted: `events` are changes in bytes of a storage, by its number, in order."""

    storages: list[Storage] = field(default_factory=list)
    events: list[tuple[int, int]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)  # the events before the end of each step
    moments: list[tuple[int, str]] = field(default_factory=list)  # since which event, what it does
    messages: list[Message] = field(default_factory=list)
    uses_gpu: bool = False

    @classmethod
    def of(cls, plain: Plain) -> "Record":
        """Make a record of the dict that `plain` returned."""
        return cls(**plain | {
            "storages": [Storage(**storage) for storage in plain["storages"]],
            "messages": [Message(**message) for message in plain["messages"]],
        })  # fmt: skip

    def plain(self) -> Plain:
        """As JSON."""
        return asdict(self)
