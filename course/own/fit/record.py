"""What a ledger notes, as plain data: the process that asks reads it without torch."""

from dataclasses import dataclass, field

# The first that applies is what a storage is for.
KINDS = ("weights", "gradients", "optimizer", "buffers", "activations", "other")


@dataclass
class Storage:
    """A piece of memory: its size in bytes, the line that made it, and its kind."""

    nbytes: int
    line: str
    kind: str
    on_gpu: bool = False


@dataclass
class Record:
    """What has happened: `events` are changes in bytes of a storage, by its number, in order."""

    storages: list[Storage] = field(default_factory=list)
    events: list[tuple[int, int]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)  # the events before the end of each step
    moments: list[tuple[int, str]] = field(default_factory=list)  # since which event, what it does
    uses_gpu: bool = False
