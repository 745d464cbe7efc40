"""What each rank reports of its steps, as plain data: the rank writes it, `why` reads it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Slice:
    """A stretch of a rank's main thread in seconds; slices follow one another without a gap.

    `kind` is one of `OWN`, `WAITS` or ``watching`` (the recorder's own time). `queued` of its
    seconds passed while the thread waited for a core. `where` is a line of the user's, as
    ``train.py:88``. For messages: `name` of the operation, `nbytes`, and `within` which kind
    they were begun. `turn` counts the backward passes of the step that have begun. `cpu` is what
    the thread computed. The thread that sends and receives had no core for `stalled` seconds,
    and ran for `sent`.
    """

    kind: str
    start: float
    end: float
    queued: float = 0.0
    where: str = ""
    name: str = ""
    nbytes: int = 0
    within: str = ""
    turn: int = 0
    cpu: float = 0.0
    stalled: float = 0.0
    sent: float = 0.0

    @property
    def seconds(self) -> float:
        """The length in seconds, without the time in which threads waited for a core.

        The threads that send count where the main thread waits for them: by the time that they
        were held up, and at most by the share of their own time that they were. Some of it may
        have passed before the main thread waited, or at another rank.
        """
        length = max(0.0, self.end - self.start - self.queued)
        if self.kind not in WAITS or not self.stalled:
            return length
        share = self.sent / (self.sent + self.stalled)
        least = self.cpu if self.kind == "collective" else 0.0
        return max(least, length - self.stalled, length * share)


# The kinds of a rank's own work. `gradients` lies between backward and the optimizer, `search` is
# for unused parameters, and `python` is everything that has no other name. On a GPU they are what
# its kernels are launched for; it also waits for `copies` from the host, or for the Python that is
# `launching` its kernels.
COMPUTING = ("forward", "backward", "gradients", "optimizer")
KERNELS = ("input", *COMPUTING, "python", "saving")  # for which kernels may be launched
OWN = (*KERNELS, "search", "copies", "launching")
# The part of a step in which such work lies.
PARTS = dict(zip(OWN, OWN, strict=True)) | {
    "gradients": "backward",
    "python": "outside the step",
    "saving": "outside the step",
    "search": "forward",
    "launching": "launching kernels",
}
# The waits for messages, and so for other ranks; `tail` is the end of DDP's backward pass.
WAITS = ("collective", "buffers", "tail")
# Reasons for which it is unknown what a rank's GPU did.
TOO_SHORT = "the script ended before torch.profiler had recorded enough steps"
NO_PROFILER = "this build of torch has no profiler for GPUs"
TAKEN = "the script uses torch.profiler itself, and there can be one at a time"
NOTHING = "torch.profiler recorded no work of theirs"
ASYNC = "begun earlier"  # marks the wait for a message that was begun with `async_op`


@dataclass
class DdpPass:
    """DDP's report on one backward pass in which it averaged gradients; times in seconds.

    `module` tells several DDP modules apart. `start` and `end` are those of the computing.
    `computing` lasts until the last gradient is there, `communicating` from the first message to
    the end of the last; `overlap` is what these two share.
    """

    module: int
    start: float
    end: float
    computing: float
    communicating: float
    overlap: float
    buckets: list[int]  # bytes of each
    unused: int = 0  # bytes of parameters that had no gradient


@dataclass
class TrainingStep:
    """One step of one rank: from the end of the optimizer's step to the next such end."""

    start: float
    end: float
    slices: list[Slice] = field(default_factory=list)
    passes: list[DdpPass] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # a checksum for each sample drawn
    fed: list[int] = field(default_factory=list)  # ... for each that a model was called with
    indices: list[int] = field(default_factory=list)  # ... for each index that a sampler gave
    opens: bool = False  # whether the loader that feeds the steps was started in it: a new epoch
    draws: int = 0  # batches that loaders gave


@dataclass
class Loader:
    """What a DataLoader was made with, and how it is used."""

    batches: int = 0  # of an epoch; 0 where that is not known
    workers: int = 0
    persistent: bool = False
    pinned: bool = False
    stream: bool = False  # an IterableDataset
    sampler: str = ""  # the class of its sampler
    batch_sampler: bool = False  # whether the script made its own
    opened: int = 0  # how often it was started while the rank was watched


@dataclass
class Ddp:
    """What a `DistributedDataParallel` was made with, and how it is used."""

    finds_unused: bool = False
    buffers: int = 0  # bytes
    ranks: int = 0  # that share its gradients
    made_at: str = ""
    static: bool = False
    cap: int = 0  # bytes of a bucket, at most
    hook: str = ""  # of its messages, such as one that sends 16 bits
    forwards: int = 0  # passes whose gradients it would send, while the rank was watched
    quiet: int = 0  # ... inside `no_sync`


@dataclass
class ScriptFeatures:
    """What a script has already, so that no cure offers it, and what rules a cure out."""

    framework: str = ""  # "accelerate" or "Trainer", if one of them takes the steps
    optimizer: str = ""  # its class
    fused: bool = False
    foreach: bool = False
    sharded: str = ""  # "fully_shard" or "FSDP", if a model is
    half: bool = False  # ... and sends 16 bits
    no_sync: str = ""  # the line that entered it
    async_save: bool = False
    loader: Loader | None = None  # the one that gave most batches
    ddp: list[Ddp] = field(default_factory=list)


@dataclass
class RankReport:
    """The report of one rank; the recorder fills it in while the rank runs."""

    rank: int
    world: int  # ranks of the run
    local: int  # ... of them on this machine
    backend: str = ""
    device: str = "cpu"
    clock: str = ""  # what ends a step: optimizer, backward or loader
    threads: int = 1  # of torch, in this rank
    cores: int = 1  # that it may use of its machine, by affinity and quota
    usable: list[int] = field(default_factory=list)  # the numbers of those by affinity
    host: str = ""  # the name of its machine
    gradients: int = 0  # bytes
    largest: int = 0  # bytes of the largest gradient
    iterating: float = 0.0  # the share of python in which an iterator that is no DataLoader ran
    seen: int = 0  # steps altogether, those of the warm-up too
    script: ScriptFeatures = field(default_factory=ScriptFeatures)
    loaded: int = 0  # samples in the largest data set that was loaded from
    lines: dict[str, str] = field(default_factory=dict)  # where a kind spent most, by samples
    cpu_s: float = 0.0  # of this process, and those below it, while it was watched
    busy_s: float = 0.0  # of all the `usable` cores in that time
    queued_s: float = 0.0  # that all threads of the process waited for a core
    watched_s: float = 0.0
    is_over: bool = False  # whether the script has ended
    steps: list[TrainingStep] = field(default_factory=list)
    recorded: list[TrainingStep] = field(default_factory=list)  # while torch.profiler recorded
    apart: float = 0.0  # seconds that the clock of all steps is ahead of that of the calendar
    blind: str = ""  # why what its GPU did is not known
    on_gpu: list[TrainingStep] = field(default_factory=list)  # its GPU's work in `recorded`


def read(path: Path) -> RankReport:
    """Read the report of a rank."""
    raw = json.loads(path.read_text())
    steps = {name: [_step(entry) for entry in raw[name]] for name in ("steps", "recorded")}
    return RankReport(**raw | steps | {"script": _script(raw["script"])})


def _script(raw: dict[str, Any]) -> ScriptFeatures:
    loader = raw["loader"] and Loader(**raw["loader"])
    return ScriptFeatures(**raw | {"loader": loader, "ddp": [Ddp(**entry) for entry in raw["ddp"]]})


def _step(raw: dict[str, Any]) -> TrainingStep:
    slices = [Slice(**entry) for entry in raw["slices"]]
    return TrainingStep(
        **raw | {"slices": slices, "passes": [DdpPass(**entry) for entry in raw["passes"]]}
    )
