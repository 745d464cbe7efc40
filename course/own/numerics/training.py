"""What one rank reports of its numbers, as plain data: the rank writes it, `right` reads it."""

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
    """A backward pass, and the calls of models with gradients that came before it.

    `line` and `called` are lines of the user's. `rows` are checksums of the samples that the model
    was called with. `modes` and `precision` describe the model at that call; `syncs` says whether
    DDP would average, `bypassed` is the line of a call that went past DDP. `parts` is None where
    the graph of the loss could not be read. `noise` is the state of the generator, if the model
    drew from it.
    """

    line: str = ""
    called: str = ""
    rows: list[int] = field(default_factory=list)
    modes: str = ""
    precision: str = ""
    syncs: bool = False
    bypassed: str = ""
    parts: list[LossTerm] | None = None
    loss: float | None = None
    scaled: bool = False
    noise: int = 0
    buffers: int = 0


@dataclass
class OptimizerStep:
    """A step of an optimizer; the lists are in the order of its parameters.

    `passes` counts the backward passes before it since the start, `order` what all ranks do alike:
    DDP's averages and collectives. `before` and `after` are checksums of the weights. `gradients`
    has samples of them, as float32 in base64, in some steps: a rank's `own`, added up over its
    passes; the `base` that was there before the first of them; the `first` that was unscaled,
    clipped or used after the last; and what was `used`. `clean` says which were zero before.

    A rank writes `entries` instead of `own`, `base` and `clean`, which are made of them when read.
    Each is a gradient that a parameter got in a pass: the parameter's place, how many samples of
    the gradient there are, and how many of what was there before; `gradients` has them in a row, as
    it has what a hook of the script saw before and after. `hooked` has a parameter's place, how
    many samples of each, and the line that registered the hook.
    """

    passes: int
    order: int
    line: str
    rates: list[float]
    settings: str
    before: list[int]
    after: list[int]
    finite: bool
    latest: list[BackwardPass] = field(default_factory=list)
    gradients: dict[str, str] = field(default_factory=dict)
    entries: list[tuple[int, int, int]] = field(default_factory=list)
    hooked: list[tuple[int, int, str]] = field(default_factory=list)
    got: list[bool] = field(default_factory=list)
    clean: list[bool] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    clips: list[str] = field(default_factory=list)  # lines that clipped
    early_clip: str = ""  # the line that clipped while the gradients were scaled
    pending: str = ""  # the line of a message that was not waited for
    schedules: int = 0  # steps of a schedule since the last step
    schedule_line: str = ""
    scale: float = 0.0  # by which a shard of the gradients was scaled before it was used
    closure: bool = False  # it computed gradients itself

    def samples(self, place: str) -> np.ndarray:
        """The samples of a gradient, one after the other; `OptimizerReport.counts` divides them."""
        return np.frombuffer(b64decode(self.gradients[place]), np.float32)

    def keep(self, place: str, values: np.ndarray) -> None:
        """Store what `samples` returns."""
        self.gradients[place] = b64encode(np.asarray(values, np.float32).tobytes()).decode()


@dataclass
class OptimizerReport:
    """An optimizer of the script; `counts` says how many samples there are of each parameter.

    `steps` counts all that it took, also those after the steps that were watched. `zero_rates`
    counts those with a rate of 0 after a larger one, from step `zero_from` on.
    """

    name: str
    made_at: str
    names: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)  # the line at which each parameter was made
    counts: list[int] = field(default_factory=list)
    restored: str = ""  # the line that loaded its state before the first step
    sharded: bool = False
    frozen: bool = False  # none of its parameters wanted a gradient when it began
    watched: list[OptimizerStep] = field(default_factory=list)
    steps: int = 0
    zero_rates: int = 0
    zero_from: int = 0


@dataclass
class LoaderPass:
    """A pass over a DataLoader; `batches` counts those that led to a backward pass.

    `indices` are the first that its sampler gave, `rows` the samples of its first batches. `given`
    counts all that a sampler gave, or the batches of a stream; of both, `chosen` has one in so many
    as `one_in` says, each with the count before it. `asks` counts calls of a model without
    gradients on its batches. What came after such a call, before another batch: `messages` counts
    collectives, `sums` has numbers that ranks added up, `reports` counts what was printed or
    written once it was over. `counted` has the amounts by which the numbers of the function with
    the loop grew in the pass. `cuts` says whether the function can drop samples that came twice.
    """

    loader: int
    sampler: int  # its number, by which it is known again
    kind: str  # the class of the sampler
    made_at: str
    length: int = 0  # samples in the data set
    epoch: int | None = None
    seed: int | None = None
    rank: int | None = None
    replicas: int | None = None
    shuffles: bool = False
    replaces: bool = False  # draws with replacement
    opened_at: str = ""
    stream: bool = False
    workers: int = 0
    library: str = ""
    twice: bool = False  # whether accelerate divides what a DistributedSampler has divided
    batches: int = 0
    drawn: int = 0
    total: int = 0  # samples that a DistributedSampler deals to all ranks: padded, or cut
    is_over: bool = False  # whether it came to its end
    asks: int = 0
    messages: int = 0
    sums: list[float] = field(default_factory=list)
    reports: int = 0
    counted: list[int] = field(default_factory=list)
    cuts: bool = False
    indices: list[int] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)
    given: int = 0
    chosen: list[tuple[int, int]] = field(default_factory=list)
    one_in: int = 1


@dataclass
class UnoptimizedParameter:
    """A parameter that gets gradients and is in no optimizer."""

    name: str
    made_at: str  # the line
    gradients: int  # how many it has got
    late: bool  # whether it was made after an optimizer
    of: int  # how many parameters its model has
    missing: int  # how many of these are in no optimizer


@dataclass
class InferenceModel:
    """A model, at its first call, that is called without gradients while another one is trained."""

    name: str
    line: str
    made_at: str
    checksum: int
    steps: int = 0  # of all optimizers, before the first call
    calls: int = 0
    trains: bool = False  # whether an optimizer has its weights


@dataclass
class DdpModel:
    """A model in DDP: checksums of its weights when it was wrapped, and at its first call."""

    made_at: str
    names: list[str]
    then: list[int]
    first: list[int] = field(default_factory=list)
    broadcasts: bool = True  # its buffers
    buffers: int = 0  # how many it has
    ignored: list[str] = field(default_factory=list)


@dataclass
class WrittenFile:
    """A file that was opened to be overwritten, or saved to."""

    path: str
    line: str
    count: int = 1


@dataclass
class LoadedFile:
    """A file that `torch.load` read: its numbers, such as an epoch, and whether an optimizer's
    state is in it. `passes` counts the backward passes before, `saves` says whether the script
    writes such a file to the same folder afterwards.
    """

    path: str
    line: str
    passes: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    optimizer: bool = False
    saves: bool = False


@dataclass
class WeightChange:
    """A call that changes trained weights: its name, its line, and the number of earlier passes."""

    name: str
    line: str
    passes: int


@dataclass
class RandomWorker:
    """A loader's worker that draws random numbers: their kind, and the state it began with."""

    rank: int
    number: int
    kind: str
    state: int


@dataclass
class TrainingReport:
    """What a rank reports. `unseen` has a sentence for each probe that failed, by its name."""

    rank: int
    world: int
    local: int
    host: str = ""
    backend: str = ""
    passes: int = 0
    is_over: bool = False  # whether the script has ended
    optimizers: list[OptimizerReport] = field(default_factory=list)
    wrapped: list[DdpModel] = field(default_factory=list)
    loader_passes: list[LoaderPass] = field(default_factory=list)
    unoptimized: list[UnoptimizedParameter] = field(default_factory=list)
    others: list[InferenceModel] = field(default_factory=list)
    written: list[WrittenFile] = field(default_factory=list)
    loads: list[LoadedFile] = field(default_factory=list)
    changes: list[WeightChange] = field(default_factory=list)
    workers: list[RandomWorker] = field(default_factory=list)
    sends: dict[str, int] = field(default_factory=dict)  # collectives by when they were called
    tensor_parallel: bool = False
    evaluated: bool = False  # whether the model was called in evaluation
    batch_norm: bool = False  # whether one trained; noted by `right --deep` alone
    unseen: dict[str, str] = field(default_factory=dict)
