"""Throughput by number of GPUs: a step's computing, its all-reduce, how much of that can hide."""

from collections.abc import Sequence
from dataclasses import dataclass

from course.core import CourseError
from course.explore.models import alpha_beta
from course.explore.models.alpha_beta import AlphaBeta
from course.explore.models.hierarchy import Topology, ways

# The backward pass's share of a step's computing: it has twice the products of the forward pass.
BACKWARD = 2 / 3


@dataclass(frozen=True)
class Workload:
    """A model in training on one GPU: `fixed` seconds per step and `per_sample` per sample.

    Its gradients have `size` bytes.
    """

    fixed: float
    per_sample: float
    size: float

    def compute(self, batch: float) -> float:
        """The seconds that one GPU computes for `batch` samples."""
        return self.fixed + self.per_sample * batch


@dataclass(frozen=True)
class Fleet:
    """As many nodes of `per_node` GPUs as needed, with links `inside` a node.

    Each node has `nics` ports to the `network`.
    """

    per_node: int
    inside: AlphaBeta
    network: AlphaBeta
    nics: int = 1

    def all_reduce(self, size: float, gpus: int) -> float:
        """The seconds of the fastest way to all-reduce `size` bytes over `gpus` GPUs."""
        nodes = -(-gpus // self.per_node)
        cluster = Topology(nodes, min(gpus, self.per_node), self.inside, self.network, self.nics)
        return min(way.seconds for way in ways(cluster, size))


@dataclass(frozen=True)
class StepTime:
    """One step's seconds: computing, communicating, and the communication that nothing hides."""

    compute: float
    comm: float
    exposed: float

    @property
    def seconds(self) -> float:
        """The time of the whole step."""
        return self.compute + self.exposed


def step(work: Workload, fleet: Fleet, gpus: int, batch: float, hidden: float) -> StepTime:
    """Time a step of `gpus` GPUs, `batch` samples each; a share `hidden` of communication may hide.

    It hides behind the backward pass, so no more can hide than that pass is long. Raises
    `CourseError` for fewer than one GPU, no sample, or a share that is not from 0 to 1.
    """
    if gpus < 1 or batch <= 0 or not 0 <= hidden <= 1:
        raise CourseError(
            "A step needs at least one GPU, a batch above 0 and a hidden share from 0 to 1."
        )
    compute, comm = work.compute(batch), fleet.all_reduce(work.size, gpus)
    return StepTime(compute, comm, comm - min(hidden * comm, BACKWARD * compute))


def throughput(work: Workload, fleet: Fleet, gpus: int, batch: float, hidden: float) -> float:
    """The samples per second of all GPUs together."""
    return gpus * batch / step(work, fleet, gpus, batch, hidden).seconds


def efficiency(
    work: Workload, fleet: Fleet, gpus: int, batch: float, hidden: float, strong: bool = False
) -> float:
    """The throughput as a share of `gpus` times that of one GPU.

    Weak scaling: every GPU has `batch` samples, however many GPUs there are. Strong scaling: all
    GPUs together have `batch` samples.
    """
    per_gpu = batch / gpus if strong else batch
    return throughput(work, fleet, gpus, per_gpu, hidden) / (
        gpus * throughput(work, fleet, 1, batch, hidden)
    )


def fit(points: Sequence[tuple[float, float]], size: float) -> Workload:
    """Fit a workload through measured (batch, seconds per step) of one GPU.

    `size` is the size of the gradients in bytes. Raises `CourseError` for fewer than two different
    batches.
    """
    line = alpha_beta.fit((1, batch, seconds) for batch, seconds in points)
    return Workload(line.alpha, line.beta, size)


# Gradients are the models' own in float32; times are of a GPU at about 30 TFLOP/s, rounded.
WORKLOADS = {
    "ResNet-50": Workload(3e-3, 0.85e-3, 102e6),
    "BERT-base": Workload(6e-3, 3.4e-3, 438e6),
    "VGG-16": Workload(3e-3, 2.3e-3, 553e6),
}
# Round figures: latency of a message in µs, and GB/s of a GPU's links, or of all ports of a node.
INSIDE = {"PCIe 3": AlphaBeta.of(8, 10), "NVLink": AlphaBeta.of(6, 120)}
NETWORKS = {
    "1 Gbit/s": AlphaBeta.of(50, 0.117),
    "10 Gbit/s": AlphaBeta.of(30, 1.17),
    "100 Gbit/s": AlphaBeta.of(5, 11.5),
    "400 Gbit/s": AlphaBeta.of(5, 46),
    "3200 Gbit/s": AlphaBeta.of(5, 370),
}
