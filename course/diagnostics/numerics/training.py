"""The report of one rank's numerics, as plain data: the rank writes it, and `right` reads it.

A field called `line`, or with a name that ends in `_at`, holds a line of the script, such as
"train.py:12".
"""

from base64 import b64decode, b64encode
from dataclasses import dataclass, field

import numpy as np

COMMAND = "command.json"  # for `right --deep`: the command line and environment of rank 0
KEPT_BATCHES = "batches"  # the probe's name under which `Batches` notes a failure


@dataclass
class LossTerm:
    """How much one target counts in a loss: the `weight` of a term in a reduction, such as a mean.

    For a mean over `terms` targets, it is the factor of the mean divided by `terms`. For a sum, it
    is the factor of the sum.
    """

    name: str
    terms: int
    weight: float


@dataclass
class BackwardPass:
    """A backward pass, and the calls of models with gradients that led to it."""

    line: str = ""  # the script's line that begins the pass
    called: str = ""  # the script's line that first calls a model
    samples: list[int] = field(default_factory=list)  # checksums of the samples in these calls
    modes: str = ""  # whether the model was in training or evaluation mode, or in a mixture
    precision: str = ""  # the model's dtype, and that of autocast
    syncs: bool = False  # whether DDP would average the gradients
    bypassed: str = ""  # the line that called the module inside DDP instead of DDP
    parts: list[LossTerm] = field(default_factory=list)  # of the loss; empty if it was not read
    loss: float | None = None
    scaled: bool = False  # whether a GradScaler has scaled the loss
    noise: int = 0  # a checksum of torch's random generator, if the model drew from it
    buffers: int = 0  # a checksum of the model's buffers, unless DDP broadcasts them


@dataclass
class StepGradients:
    """Samples of the gradients of a step; empty if the step was not sampled.

    There are four, by name. `own` is the rank's own gradient, summed over the passes. `base` was
    there before the first pass. `first` is the gradient after the last pass, just before it was
    first unscaled, clipped or used. `used` is the gradient that the optimizer used.

    A rank writes `entries`, from which `reader` computes `own`, `base` and `clean`.
    """

    encoded: dict[str, str] = field(default_factory=dict)  # by name: float32 in base64
    # For each gradient that a parameter got in a pass: the index of the parameter, the number of
    # samples of the gradient, and of the gradient that was there before. All are encoded in a row.
    entries: list[tuple[int, int, int]] = field(default_factory=list)
    # For each call of a hook of the script: the index of the parameter, the number of samples, and
    # the line that registered the hook. The samples before the hook are encoded, then those after.
    hooked: list[tuple[int, int, str]] = field(default_factory=list)
    clean: list[bool] = field(default_factory=list)  # for each parameter: whether `base` is zero

    def samples(self, name: str) -> np.ndarray:
        """The samples of all parameters in a row; `OptimizerReport.counts` has their numbers."""
        return np.frombuffer(b64decode(self.encoded[name]), np.float32)

    def keep(self, name: str, values: np.ndarray) -> None:
        """Encode the values, which `samples` returns."""
        self.encoded[name] = b64encode(np.asarray(values, np.float32).tobytes()).decode()


@dataclass
class OptimizerStep:
    """A step of an optimizer; lists with an entry per parameter are in the optimizer's order."""

    passes_so_far: int  # backward passes since the start of the script
    collectives_so_far: int  # with DDP's averages; the same on all ranks
    line: str
    rates: list[float]  # the learning rate of each group
    settings: str  # all other settings of the groups
    before: list[int]  # a checksum of each weight before the step
    after: list[int]  # ... and after it
    finite: bool  # whether all weights are finite after it
    passes: list[BackwardPass] = field(default_factory=list)  # since the last step
    gradients: StepGradients = field(default_factory=StepGradients)
    has_gradient: list[bool] = field(default_factory=list)  # for each parameter
    norms: list[float] = field(default_factory=list)  # of each weight after the step
    clips: list[str] = field(default_factory=list)  # lines that clipped
    early_clip: str = ""  # the line that clipped while the gradients were scaled
    pending: str = ""  # the line of a message that nothing waited for
    schedules: int = 0  # steps of a schedule since the last step
    schedule_line: str = ""
    scale: float = 0.0  # the factor by which a shard of the gradients was scaled before its use
    closure: bool = False  # whether the step computed gradients itself, in a closure


@dataclass
class OptimizerReport:
    """An optimizer of the script; `names` to `counts` are in the order of its parameters."""

    name: str  # its class
    made_at: str
    names: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)  # the line that made each parameter
    counts: list[int] = field(default_factory=list)  # the number of samples of each
    restored: str = ""  # the line that loaded its state before the first step
    sharded: bool = False  # whether it has shards of parameters, as with fully_shard
    frozen: bool = False  # whether none of its parameters required a gradient when it began
    watched: list[OptimizerStep] = field(default_factory=list)
    steps: int = 0  # all steps, including those after the watched ones
    joined_at: int | None = None  # its steps when the first `join` of the rank ended, if any did
    zero_rates: int = 0  # steps with a rate of 0 after a larger one
    zero_from: int = 0  # the first of these steps, from 1

    @property
    def is_sampled(self) -> bool:
        """Whether the gradients of its first step were sampled."""
        return bool(self.watched and self.watched[0].gradients.encoded)


@dataclass
class Evaluation:
    """What the script does with a model's answers, without gradients, in a pass over a loader.

    `messages` and `sums` count from a call of the model to the next batch.
    """

    calls: int = 0
    messages: int = 0  # collectives
    sums: list[float] = field(default_factory=list)  # results of the ranks' sums
    reports: int = 0  # prints and written files after the pass
    # How much the numbers in the function with the loop grew during the pass.
    counted: list[int] = field(default_factory=list)
    cuts: bool = False  # whether the script can drop repeated samples


@dataclass
class LoaderPass:
    """A pass over a DataLoader: how the loader was made, and which samples it gave."""

    loader: int  # the number of the loader
    sampler: int  # the number of the sampler, which several loaders or passes may share
    kind: str  # the class of the sampler
    made_at: str
    length: int = 0  # samples in the data set
    opened_at: str = ""  # the line that begins the pass
    stream: bool = False  # whether the data set is an IterableDataset
    workers: int = 0
    framework: str = ""  # accelerate or Trainer, if it iterates the loader
    # Settings of a DistributedSampler when the pass begins; None with another sampler.
    epoch: int | None = None
    seed: int | None = None
    rank: int | None = None
    replicas: int | None = None
    total: int = 0  # samples that it deals to all ranks, padded or cut to equal shares
    divided_twice: bool = False  # whether accelerate divides the sampler's share again
    # Settings of a DistributedSampler or a RandomSampler.
    shuffles: bool = False
    replaces: bool = False  # whether it draws with replacement
    # What the loader gave.
    drawn: int = 0  # batches
    batches: int = 0  # batches that led to a backward pass
    is_over: bool = False  # whether the pass reached the end of the loader
    indices: list[int] = field(default_factory=list)  # the first indices of the sampler
    samples: list[list[int]] = field(default_factory=list)  # checksums, by batch: the first ones
    given: int = 0  # indices that the sampler gave, or batches of a stream
    # A subset of these indices, or of the stream's samples, each with the value of `given` before.
    chosen: list[tuple[int, int]] = field(default_factory=list)
    one_in: int = 1  # one in this many is in the subset
    evaluation: Evaluation = field(default_factory=Evaluation)


@dataclass
class UnoptimizedParameter:
    """A parameter that gets gradients and is in no optimizer."""

    name: str
    made_at: str
    gradients: int  # how many gradients it got
    late: bool  # whether it was made after an optimizer
    in_model: int  # the number of parameters of its model
    missing: int  # the number of these that are in no optimizer


@dataclass
class InferenceModel:
    """A model that is called without gradients, such as a teacher, at its first such call."""

    name: str  # its class
    line: str  # the line of the call
    made_at: str
    checksum: int  # of its weights
    steps: int = 0  # steps of all optimizers before the call
    trains: bool = False  # whether its weights are in an optimizer


@dataclass
class BufferUse:
    """An evaluation or a save of a trained model whose buffers DDP does not send."""

    line: str
    steps: int  # steps of all optimizers before it
    checksum: int  # of the buffers
    is_saved: bool


@dataclass
class DdpModel:
    """A model that DDP wraps."""

    made_at: str
    names: list[str]  # its trained weights, without those that DDP ignores
    at_wrapping: list[int]  # a checksum of each weight when DDP wrapped the model
    at_first_call: list[int] = field(default_factory=list)  # a checksum of each weight
    buffers: int = 0  # the number of buffers
    ignored: list[str] = field(default_factory=list)  # the parameters and buffers that DDP ignores


@dataclass
class WrittenFile:
    """A file that was opened to be overwritten, or saved to."""

    path: str
    line: str


@dataclass
class LoadedFile:
    """A file that `torch.load` read."""

    path: str
    line: str
    passes_so_far: int = 0  # backward passes before it was read
    numbers: dict[str, int] = field(default_factory=dict)  # its progress, such as the epoch, by key
    optimizer: bool = False  # whether it has an optimizer's state
    saves: bool = False  # whether the script later saves a file like it to the same folder


@dataclass
class WeightChange:
    """A call that changes trained weights."""

    line: str
    passes_so_far: int  # backward passes before the call


@dataclass
class RandomWorker:
    """A loader's worker that draws random numbers."""

    number: int  # the worker's number in its loader
    kind: str  # the generator: torch, random or numpy
    state: int  # a checksum of the generator before the draw


@dataclass
class TrainingReport:
    """The report of a rank."""

    rank: int
    world: int
    local: int  # the number of ranks on its machine
    host: str = ""
    backend: str = ""
    passes_so_far: int = 0  # backward passes
    is_over: bool = False  # whether the script has ended
    optimizers: list[OptimizerReport] = field(default_factory=list)
    wrapped: list[DdpModel] = field(default_factory=list)  # in the order of wrapping
    loader_passes: list[LoaderPass] = field(default_factory=list)
    unoptimized: list[UnoptimizedParameter] = field(default_factory=list)
    others: list[InferenceModel] = field(default_factory=list)
    written: list[WrittenFile] = field(default_factory=list)
    buffer_uses: list[BufferUse] = field(default_factory=list)
    loads: list[LoadedFile] = field(default_factory=list)
    restored_at: list[str] = field(default_factory=list)  # lines that load an optimizer's state
    changes: list[WeightChange] = field(default_factory=list)
    workers: list[RandomWorker] = field(default_factory=list)
    sends: dict[str, int] = field(default_factory=dict)  # collectives, by the part of a step
    tensor_parallel: bool = False  # whether the ranks split a model, other than by fully_shard
    evaluated: bool = False  # whether a model was called in evaluation mode
    batch_norm: bool = False  # whether batch norm trained; only `right --deep` notes it
    unseen: dict[str, str] = field(default_factory=dict)  # the errors of failed probes, by name
