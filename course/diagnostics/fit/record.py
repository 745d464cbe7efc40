"""What a ledger records, as plain data that a process without torch can read."""

from dataclasses import dataclass, field
from typing import Any

Plain = dict[str, Any]  # what goes from process to process as JSON

# What a storage is for: the first of these that applies.
KINDS = ("weights", "gradients", "optimizer", "buffers", "activations", "other")


@dataclass
class Storage:
    """A piece of memory: its size in bytes, the line that made it, its kind, and where it is."""

    nbytes: int
    line: str
    kind: str
    on_gpu: bool = False


@dataclass(frozen=True)
class Message:
    """A collective, as a ring of its ranks would carry it out.

    `when` is the number of events before it, `hops` how many messages a rank sends one after
    another, and `nbytes` their bytes together, which is the least that each rank must send.
    """

    when: int
    hops: int
    nbytes: float


@dataclass
class Record:
    """All that a ledger has recorded.

    Each of the `events` is the number of a storage, and the change of its size in bytes.
    """

    storages: list[Storage] = field(default_factory=list)
    events: list[tuple[int, int]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)  # the number of events before each step's end
    phases: list[tuple[int, str]] = field(default_factory=list)  # the events before it, its name
    messages: list[Message] = field(default_factory=list)
    uses_gpu: bool = False

    @property
    def counted(self) -> list[bool]:
        """Whether each storage counts: once a GPU is used, only storages on it do."""
        return [storage.on_gpu or not self.uses_gpu for storage in self.storages]
