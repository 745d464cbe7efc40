"""nn.DataParallel in bytes: what each device holds in a training step, and what moves."""

from dataclasses import dataclass

from course.core import CourseError

FLOAT = 4  # bytes
ID = 8  # bytes of a token's number or label
TOKENS = 128  # per sequence
ADAM = 2  # AdamW keeps two moments per weight
PARTIAL_LOSS = FLOAT + ID  # a sum and a count
# Tensors that cross-entropy makes from logits: log-probabilities, and in backward their gradient
# and that of the logits.
LOSS_TENSORS = 3
# What autograd keeps of a transformer layer, for each token and unit of width, without dropout and
# attention maps, at 4 bytes per number: Korthikanti et al. 2022, "Reducing Activation Recomputation
# in Large Transformer Models".
ACTIVATION = 66
DEPTH = 64  # width of a BERT for each of its layers (Turc et al. 2019): 768 wide, 12 deep


@dataclass(frozen=True)
class DeviceMemory:
    """What a device holds, in bytes by name; `extra` is what only the first, the master, holds."""

    samples: int
    held: dict[str, float]
    extra: dict[str, float]

    @property
    def total(self) -> float:
        """All bytes that the device holds."""
        return sum(self.held.values()) + sum(self.extra.values())


@dataclass(frozen=True)
class ParallelStep:
    """One training step: its devices, the master first, and the bytes that move, by stage in order.

    Every move begins or ends at the master.
    """

    devices: tuple[DeviceMemory, ...]
    moved: dict[str, float]
    ddp_link: float  # what DDP would send and receive on each rank instead

    @property
    def used(self) -> int:
        """The number of devices that have a sample."""
        return sum(device.samples > 0 for device in self.devices)

    @property
    def master_link(self) -> float:
        """The bytes into and out of the master."""
        return sum(self.moved.values())

    @property
    def other_link(self) -> float:
        """The bytes into and out of each other device, on average."""
        return self.master_link / (self.used - 1) if self.used > 1 else 0.0


def shares(batch: int, devices: int) -> list[int]:
    """The number of samples per device, cut as by `Tensor.chunk`; the last may get few or none."""
    size = -(-batch // devices)
    return [max(0, min(size, batch - i * size)) for i in range(devices)]


def width(parameters: float, vocabulary: int) -> float:
    """The width of a BERT of this many weights: ``12 width²`` per layer, and the embeddings."""
    low, high = 0.0, 1e5
    for _ in range(60):
        middle = (low + high) / 2
        too_many = 12 * middle**3 / DEPTH + vocabulary * middle > parameters
        low, high = (low, middle) if too_many else (middle, high)
    return low


def step(
    devices: int, batch: int, parameters: float, vocabulary: int, inside: bool = False
) -> ParallelStep:
    """Count the bytes of an AdamW step of a model that predicts one of `vocabulary` words a token.

    `batch` counts sequences of `TOKENS` tokens; with `inside`, each device computes the loss of its
    share in `forward`. Nothing is freed within the step. Raises `CourseError` for numbers below 1.
    """
    if min(devices, batch, parameters, vocabulary) < 1:
        raise CourseError("A step needs at least one device, sample, parameter and word.")
    sizes = shares(batch, devices)
    weights = FLOAT * parameters
    per_sample = TOKENS * ACTIVATION * width(parameters, vocabulary) ** 2 / DEPTH
    logits = TOKENS * vocabulary * FLOAT  # of a sample
    alone = sizes[0] == batch  # then nothing is copied, and the model itself runs
    # A device also holds the loss's tensors, or the gradients that the master sends it.
    outputs = logits * (1 + LOSS_TENSORS if inside or alone else 2)

    def held(size: int) -> dict[str, float]:
        if not size:
            return {}
        return {
            "weights": weights,
            "gradients": weights,
            "activations": size * per_sample,
            "outputs": size * outputs,
        }

    extra = {"AdamW's moments": ADAM * weights}
    if not alone:
        extra["sum of gradients"] = weights
        extra["gathered outputs"] = 0.0 if inside else batch * logits * (1 + LOSS_TENSORS)
    made = [DeviceMemory(size, held(size), {} if i else extra) for i, size in enumerate(sizes)]
    ddp_link = 4 * (devices - 1) / devices * weights
    return ParallelStep(tuple(made), _moved(sizes, weights, logits, inside), ddp_link)


def _moved(sizes: list[int], weights: float, logits: float, inside: bool) -> dict[str, float]:
    """The bytes of each stage; what stays on the master does not move."""
    others = sum(size > 0 for size in sizes[1:])
    samples = sum(sizes[1:])
    per_token = 3 if inside else 2  # words and mask, and labels if the loss is inside
    outputs = others * PARTIAL_LOSS if inside else samples * logits
    back = others * FLOAT if inside else outputs
    return {
        "inputs out": samples * TOKENS * ID * per_token,
        "weights out": others * weights,
        "losses back" if inside else "logits back": outputs,
        "their gradients out": back,
        "gradients back": others * weights,
    }
