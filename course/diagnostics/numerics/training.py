"""What one rank reports of its numbers, as plain data: the rank writes it, `right` reads it.

A name that ends in `_at`, and `line`, are lines of the script, such as "train.py:12".
"""

from base64 import b64decode, b64encode
from dataclasses import dataclass, field

import numpy as np

COMMAND = "command.json"  # how rank 0 was started, for `right --deep`: its words and environment
KEPT_BATCHES = "batches"  # the name under which a failure to keep or give them is noted


@dataclass
class LossTerm:
    """What one target counts in a loss: the `weight` of a term in a reduction, such as a mean.

    In a mean over `terms`, it is the factor on the mean divided by them; in a sum, the factor.
    """

    name: str
    terms: int
    weight: float


@dataclass
class BackwardPass:
    """A backward pass, and the calls of models with gradients that came before it."""

    line: str = ""  # the script's line that begins the pass
    called: str = ""  # the script's line that first calls a model
    rows: list[int] = field(default_factory=list)  # checksums of the samples in these calls
    modes: str = ""  # of the model at its call: training, evaluation, or a mixture
    precision: str = ""  # of the model at its call: its dtype, and that of autocast
    syncs: bool = False  # whether DDP would average the gradients
    bypassed: str = ""  # the line of a call that went past DDP, on the module inside
    parts: list[LossTerm] = field(default_factory=list)  # of the loss; empty if it was not read
    loss: float | None = None
    scaled: bool = False  # whether a GradScaler has scaled the loss
    noise: int = 0  # a checksum of the generator, if the model drew from it
    buffers: int = 0  # a checksum of the model's buffers, unless DDP sends them


@dataclass
class StepGradients:
    """Samples of the gradients of a step, in the steps in which they are looked at.

    They have names: the rank's `own`, added up over the passes; the `base` that was there before
    the first of them; the `first` that was unscaled, clipped or used after the last; the `used`.

    A rank writes `entries` instead of `own`, `base` and `clean`, which `reader` makes of them.
    """

    encoded: dict[str, str] = field(default_factory=dict)  # by name: float32 in base64
    # For each gradient that a parameter got in a pass: the place of the parameter, how many samples
    # of the gradient there are, and how many of what was there before. All are encoded in a row.
    entries: list[tuple[int, int, int]] = field(default_factory=list)
    # For each gradient that a hook of the script saw: the place of the parameter, how many samples
    # there are, and the line that registered the hook. All before the hook are encoded, then all
    # after it.
    hooked: list[tuple[int, int, str]] = field(default_factory=list)
    clean: list[bool] = field(default_factory=list)  # for each parameter: whether `base` is zero

    def samples(self, name: str) -> np.ndarray:
        """The samples of all parameters in a row; `OptimizerReport.counts` divides them."""
        return np.frombuffer(b64decode(self.encoded[name]), np.float32)

    def keep(self, name: str, values: np.ndarray) -> None:
        """Store what `samples` returns."""
        self.encoded[name] = b64encode(np.asarray(values, np.float32).tobytes()).decode()


@dataclass
class OptimizerStep:
    """A step of an optimizer; a list of something of each parameter is in the optimizer's order."""

    passes: int  # how many backward passes came before it since the start
    order: int  # counts what all ranks do alike: DDP's averages and collectives
    line: str
    rates: list[float]  # the learning rate of each group
    settings: str  # all other numbers of the groups
    before: list[int]  # a checksum of each weight before the step
    after: list[int]  # ... and after it
    finite: bool  # whether all weights are finite after it
    latest: list[BackwardPass] = field(default_factory=list)  # since the step before
    gradients: StepGradients = field(default_factory=StepGradients)
    got: list[bool] = field(default_factory=list)  # whether each parameter got a gradient
    norms: list[float] = field(default_factory=list)  # of each weight after the step
    clips: list[str] = field(default_factory=list)  # lines that clipped
    early_clip: str = ""  # the line that clipped while the gradients were scaled
    pending: str = ""  # the line of a message that was not waited for
    schedules: int = 0  # steps of a schedule since the last step
    schedule_line: str = ""
    scale: float = 0.0  # by which a shard of the gradients was scaled before it was used
    closure: bool = False  # it computed gradients itself


@dataclass
class OptimizerReport:
    """An optimizer of the script; the first lists are in the order of its parameters."""

    name: str  # its class
    made_at: str
    names: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)  # the line at which each parameter was made
    counts: list[int] = field(default_factory=list)  # how many samples there are of each
    restored: str = ""  # the line that loaded its state before the first step
    sharded: bool = False  # whether it has shards of parameters, as with fully_shard
    frozen: bool = False  # none of its parameters wanted a gradient when it began
    watched: list[OptimizerStep] = field(default_factory=list)
    steps: int = 0  # all that it took, also after those that were watched
    zero_rates: int = 0  # steps with a rate of 0 after a larger one
    zero_from: int = 0  # the first of these steps


@dataclass
class Evaluation:
    """What follows calls of a model without gradients on the batches of a pass over a loader.

    `messages` and `sums` are of the time from such a call to the next batch.
    """

    calls: int = 0
    messages: int = 0  # collectives
    sums: list[float] = field(default_factory=list)  # numbers that ranks added up
    reports: int = 0  # what was printed or written once the pass was over
    # By how much the numbers of the function with the loop have grown in the pass.
    counted: list[int] = field(default_factory=list)
    cuts: bool = False  # whether that function can drop samples that came twice


@dataclass
class LoaderPass:
    """A pass over a DataLoader: how the loader was made, and what it gave."""

    loader: int  # its number
    sampler: int  # its number, by which it is known again
    kind: str  # the class of the sampler
    made_at: str
    length: int = 0  # samples in the data set
    opened_at: str = ""  # the line that begins the pass
    stream: bool = False  # whether the data set is an IterableDataset
    workers: int = 0
    library: str = ""  # accelerate or Trainer, if it iterates the loader
    # The settings of a DistributedSampler when the pass begins; None with another sampler.
    epoch: int | None = None
    seed: int | None = None
    rank: int | None = None
    replicas: int | None = None
    total: int = 0  # samples that it deals to all ranks: padded, or cut
    twice: bool = False  # whether accelerate divides what it has divided
    # Also those of a RandomSampler.
    shuffles: bool = False
    replaces: bool = False  # draws with replacement
    # What the loader gave.
    drawn: int = 0  # batches
    batches: int = 0  # ... that led to a backward pass
    is_over: bool = False  # whether the pass came to its end
    indices: list[int] = field(default_factory=list)  # the first that the sampler gave
    rows: list[list[int]] = field(default_factory=list)  # the samples of the first batches
    given: int = 0  # indices that the sampler gave, or batches of a stream
    # Some of these indices, or of the stream's samples, each with `given` as it was before it.
    chosen: list[tuple[int, int]] = field(default_factory=list)
    one_in: int = 1  # the share of them that is chosen: one in so many
    evaluation: Evaluation = field(default_factory=Evaluation)


@dataclass
class UnoptimizedParameter:
    """A parameter that gets gradients and is in no optimizer."""

    name: str
    made_at: str
    gradients: int  # how many it has got
    late: bool  # whether it was made after an optimizer
    of: int  # how many parameters its model has
    missing: int  # how many of these are in no optimizer


@dataclass
class InferenceModel:
    """A model, at its first call, that is called without gradients while another one is trained."""

    name: str  # its class
    line: str  # of the call
    made_at: str
    checksum: int  # of its weights
    steps: int = 0  # of all optimizers, before the call
    calls: int = 0
    trains: bool = False  # whether an optimizer has its weights


@dataclass
class DdpModel:
    """A model in DDP."""

    made_at: str
    names: list[str]  # of its trained weights, but for those that DDP ignores
    then: list[int]  # a checksum of each when the model was wrapped
    first: list[int] = field(default_factory=list)  # ... and at its first call
    broadcasts: bool = True  # its buffers
    buffers: int = 0  # how many it has
    ignored: list[str] = field(default_factory=list)  # names of what DDP ignores


@dataclass
class WrittenFile:
    """A file that was opened to be overwritten, or saved to."""

    path: str
    line: str
    count: int = 1


@dataclass
class LoadedFile:
    """A file that `torch.load` read."""

    path: str
    line: str
    passes: int = 0  # backward passes before it
    numbers: dict[str, int] = field(default_factory=dict)  # in it, such as an epoch, by key
    optimizer: bool = False  # whether an optimizer's state is in it
    saves: bool = False  # whether the script writes such a file to the same folder afterwards


@dataclass
class WeightChange:
    """A call that changes trained weights."""

    name: str  # of the function
    line: str
    passes: int  # backward passes before it


@dataclass
class RandomWorker:
    """A loader's worker that draws random numbers."""

    rank: int
    number: int  # of the worker in its loader
    kind: str  # of the generator: torch, random or numpy
    state: int  # a checksum of the generator before its first draw


@dataclass
class TrainingReport:
    """What a rank reports."""

    rank: int
    world: int
    local: int  # how many ranks are on its machine
    host: str = ""
    backend: str = ""
    passes: int = 0  # backward passes
    is_over: bool = False  # whether the script has ended
    optimizers: list[OptimizerReport] = field(default_factory=list)
    wrapped: list[DdpModel] = field(default_factory=list)  # in the order of wrapping
    loader_passes: list[LoaderPass] = field(default_factory=list)
    unoptimized: list[UnoptimizedParameter] = field(default_factory=list)
    others: list[InferenceModel] = field(default_factory=list)
    written: list[WrittenFile] = field(default_factory=list)
    loads: list[LoadedFile] = field(default_factory=list)
    changes: list[WeightChange] = field(default_factory=list)
    workers: list[RandomWorker] = field(default_factory=list)
    sends: dict[str, int] = field(default_factory=dict)  # collectives by when they were called
    tensor_parallel: bool = False  # whether the ranks split a model, other than by fully_shard
    evaluated: bool = False  # whether a model was called in evaluation mode
    batch_norm: bool = False  # whether batch norm trained; noted by `right --deep` alone
    unseen: dict[str, str] = field(default_factory=dict)  # why each probe that failed did, by name
