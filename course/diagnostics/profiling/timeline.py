"""The report of a rank on its steps, as plain data: the rank writes it, and `why` reads it."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from course.core import from_plain


@dataclass(slots=True)
class Slice:
    """A stretch of a rank's main thread; slices follow one another without a gap.

    All times are in seconds. `kind` is one of `OWN`, `WAITS` or ``watching`` (the recorder's own
    time). `where` is the user's line, such as ``train.py:88``. `queued` is the part of the time in
    which the thread waited for a core, and `cpu` the part in which it computed. `passes_begun` is
    the number of backward passes that had begun in this step.

    A message has the `name` of its operation, its `nbytes`, and the kind of work `within` which it
    was begun. The thread that sends and receives waited for a core for `stalled` seconds, and ran
    for `sent` seconds.
    """

    kind: str
    start: float
    end: float
    queued: float = 0.0
    where: str = ""
    name: str = ""
    nbytes: int = 0
    within: str = ""
    passes_begun: int = 0
    cpu: float = 0.0
    stalled: float = 0.0
    sent: float = 0.0

    @property
    def seconds(self) -> float:
        """The length in seconds, without the time in which threads waited for a core.

        In a wait for a message, this also leaves out the time in which the sending thread waited
        for a core. It leaves out no larger share of the wait than the share of its own time that
        the thread waited, because some of that may have passed before the main thread began to
        wait, or while another rank held the message up.
        """
        length = max(0.0, self.end - self.start - self.queued)
        if self.kind not in WAITS or not self.stalled:
            return length
        share = self.sent / (self.sent + self.stalled)
        least = self.cpu if self.kind == "collective" else 0.0
        return max(least, length - self.stalled, length * share)


# The kinds of a rank's own work. `gradients` comes between backward and the optimizer, `search`
# looks for unused parameters, and `python` is everything that has no other name. On a GPU, the kind
# is the work for which its kernels were launched. A GPU also waits for `copies` from the host, or
# for the Python that is `launching` its kernels.
COMPUTING = ("forward", "backward", "gradients", "optimizer")
KERNELS = ("input", *COMPUTING, "python", "saving")  # work that may launch kernels
OWN = (*KERNELS, "search", "copies", "launching")
# The part of a step to which each kind of work belongs.
PARTS = dict(zip(OWN, OWN, strict=True)) | {
    "gradients": "backward",
    "python": "outside the step",
    "saving": "outside the step",
    "search": "forward",
    "launching": "launching kernels",
}
# The kinds of waits for messages, and so for other ranks. `tail` is the end of DDP's backward pass.
WAITS = ("collective", "buffers", "tail")
# The reasons why it is unknown what a rank's GPU did.
TOO_SHORT = "the script ended before torch.profiler had recorded enough steps"
NO_PROFILER = "this build of torch has no profiler for GPUs"
TAKEN = "the script uses torch.profiler itself, and there can be one at a time"
NOTHING = "torch.profiler recorded no work of theirs"
ASYNC = "begun earlier"  # marks the wait for a message that was begun with `async_op=True`


@dataclass
class DdpPass:
    """DDP's report on one backward pass in which it averaged gradients; times in seconds.

    `module` tells several DDP modules apart. The pass computes from `start` to `end`, when the last
    gradient is ready: this takes `computing` seconds. `communicating` is the time from the first
    message to the end of the last one, and `overlap` the time in which both go on.
    """

    module: int
    start: float
    end: float
    computing: float
    communicating: float
    overlap: float
    buckets: list[int]  # bytes of each
    unused: int = 0  # bytes of the parameters that got no gradient


@dataclass
class TrainingStep:
    """One step of one rank, from the end of one optimizer step to the end of the next."""

    start: float
    end: float
    slices: list[Slice] = field(default_factory=list)
    passes: list[DdpPass] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # a checksum of each sample drawn
    model_rows: list[int] = field(default_factory=list)  # ... of each sample that a model got
    indices: list[int] = field(default_factory=list)  # ... of each index that a sampler chose
    starts_epoch: bool = False  # whether the training's loader was started in it, for a new epoch
    draws: int = 0  # batches that loaders returned


@dataclass
class Loader:
    """The settings of a DataLoader, and how it is used."""

    batches: int = 0  # in an epoch; 0 if unknown
    workers: int = 0
    persistent: bool = False
    pinned: bool = False
    stream: bool = False  # an IterableDataset
    sampler: str = ""  # the class of its sampler
    batch_sampler: bool = False  # whether the script passed one of its own
    opened: int = 0  # how often it was started after the warm-up


@dataclass
class Ddp:
    """The settings of a `DistributedDataParallel`, and how it is used."""

    finds_unused: bool = False
    buffers: int = 0  # bytes
    ranks: int = 0  # the number that share its gradients
    made_at: str = ""
    static: bool = False
    bucket_cap_bytes: int = 0  # the largest size of a bucket in bytes
    hook: str = ""  # its communication hook, such as one that sends 16 bits
    forwards: int = 0  # forward passes after the warm-up whose gradients it would send
    no_sync_forwards: int = 0  # ... and those inside `no_sync`


@dataclass
class ScriptFeatures:
    """What a script uses already: no cure offers it; it rules a cure out, or a cure removes it."""

    framework: str = ""  # "accelerate" or "Trainer", if one of them takes the steps
    optimizer: str = ""  # its class
    fused: bool = False
    foreach: bool = False
    sharded: str = ""  # "fully_shard" or "FSDP" if a model is sharded
    half: bool = False  # whether a sharded model sends 16 bits
    no_sync: str = ""  # the line that entered it
    async_save: bool = False
    detects_anomalies: bool = False  # autograd does, in the last backward pass
    loader: Loader | None = None  # the one that returned most batches
    ddp: list[Ddp] = field(default_factory=list)


@dataclass
class RankReport:
    """The report of one rank; the recorder fills it in while the rank runs."""

    rank: int
    world: int  # the number of ranks of the run
    local: int  # ... of those on this machine
    backend: str = ""
    device: str = "cpu"
    clock: str = ""  # what ends a step: optimizer, backward or loader
    threads: int = 1  # torch's threads in this rank
    cores: int = 1  # the number that it may use, by affinity and quota
    usable: list[int] = field(default_factory=list)  # the numbers of the cores in its affinity
    host: str = ""  # the name of its machine
    gradients: int = 0  # bytes
    largest_gradient: int = 0  # bytes of the largest gradient
    iterating: float = 0.0  # the share of python that was spent in iterators that are no DataLoader
    seen: int = 0  # all steps, with those of the warm-up
    script: ScriptFeatures = field(default_factory=ScriptFeatures)
    dataset_size: int = 0  # samples in the largest data set that a loader used
    lines: dict[str, str] = field(default_factory=dict)  # by kind, its most frequent line
    # The next four cover the time in which the rank was watched.
    cpu_s: float = 0.0  # CPU seconds of this process and of those below it
    busy_s: float | None = None  # seconds for which the `usable` cores were busy; None if unknown
    queued_s: float = 0.0  # seconds for which the threads of the process waited for a core
    watched_s: float = 0.0  # its length
    is_over: bool = False  # whether the script has ended
    steps: list[TrainingStep] = field(default_factory=list)
    recorded: list[TrainingStep] = field(default_factory=list)  # while torch.profiler recorded
    clock_offset: float = 0.0  # seconds by which the clock of the steps is ahead of the calendar's
    gpu_unknown_because: str = ""  # why it is unknown what its GPU did; "" if that is known
    on_gpu: list[TrainingStep] = field(default_factory=list)  # the steps of its GPU in `recorded`


def read(path: Path) -> RankReport:
    """Read the report of a rank."""
    return from_plain(RankReport, json.loads(path.read_text()))
