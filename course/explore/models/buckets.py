"""DDP's gradient buckets: when each is full, when it is all-reduced, how long a rank waits."""

from dataclasses import dataclass
from itertools import accumulate

from course.core import CourseError
from course.explore.models.backward import Backward, Message, all_reduce_ms

DEFAULT_CAP_MIB = 25.0  # DDP's bucket_cap_mb by default ...
# ... and the cap of its first bucket then: torch.distributed._DEFAULT_FIRST_BUCKET_BYTES.
DEFAULT_FIRST_MIB = 1.0
CAPS_MIB = tuple(round(0.5 * 2 ** (i / 4), 2) for i in range(45))  # 0.5 … 1024, for the search


@dataclass(frozen=True)
class Layer:
    """A piece of a model: its gradients in MiB and its share of the backward pass in ms."""

    name: str
    mib: float
    backward_ms: float


@dataclass(frozen=True)
class BucketedBackward(Backward):
    """A backward pass as DDP does it: each message is a bucket."""

    layers: tuple[Layer, ...]  # in backward order: the last layer of the model first

    @property
    def exposed_ms(self) -> float:
        """The time that the rank waits for the network after its computation."""
        return self.done_ms - self.compute_ms

    @property
    def overlap(self) -> float:
        """The share of communication during the backward pass, 0 to 1 (1 if there is none)."""
        hidden = sum(max(0.0, min(m.end_ms, self.compute_ms) - m.start_ms) for m in self.messages)
        return hidden / self.comm_ms if self.comm_ms else 1.0


def assign(sizes_mib: list[float], cap_mib: float | None) -> list[tuple[int, ...]]:
    """Group gradients, in the order in which they become ready, into buckets as DDP does.

    A bucket is closed once it holds `cap_mib`, so it may exceed the cap by its last gradient. None
    is DDP's default: 25 MiB, but 1 MiB for the first bucket, so that the network starts early. A
    cap that you set applies to the first bucket too (torch 2.13).
    """
    first, others = (DEFAULT_FIRST_MIB, DEFAULT_CAP_MIB) if cap_mib is None else (cap_mib, cap_mib)
    buckets: list[tuple[int, ...]] = []
    open_bucket: list[int] = []
    for index in range(len(sizes_mib)):
        open_bucket.append(index)
        limit = others if buckets else first
        if sum(sizes_mib[i] for i in open_bucket) >= limit:
            buckets.append(tuple(open_bucket))
            open_bucket = []
    return [*buckets, tuple(open_bucket)] if open_bucket else buckets


def schedule(
    layers: tuple[Layer, ...],
    cap_mib: float | None = None,
    gb_per_s: float = 10.0,
    ranks: int = 4,
    latency_ms: float = 0.0,
    overlap: bool = True,
) -> BucketedBackward:
    """Compute when each bucket of `layers` (the model's first layer first) is full and all-reduced.

    An all-reduce starts when its bucket is full and the one before has left the network; without
    `overlap`, not before the backward pass has ended. Raises `CourseError` for an impossible
    model, cap, bandwidth or number of ranks.
    """
    if not layers or min(gb_per_s, ranks, cap_mib or 1) <= 0:
        raise CourseError(
            "A schedule needs at least one layer and rank, and a bandwidth and a cap above 0."
        )
    order = tuple(reversed(layers))
    ends = tuple(accumulate(layer.backward_ms for layer in order))
    free, buckets = 0.0, []
    for indices in assign([layer.mib for layer in order], cap_mib):
        mib, ready = sum(order[i].mib for i in indices), ends[indices[-1]]
        start = max(free, ready if overlap else ends[-1])
        free = start + all_reduce_ms(mib, ranks, gb_per_s, latency_ms)
        buckets.append(Message(indices, mib, start, free))
    return BucketedBackward(ends, tuple(buckets), order)


def by_cap(layers: tuple[Layer, ...], **network: float) -> list[tuple[float, float]]:
    """(cap in MiB, ms until every gradient is averaged) for each of `CAPS_MIB`."""
    return [(cap, schedule(layers, cap, **network).done_ms) for cap in CAPS_MIB]


def best_cap(curve: list[tuple[float, float]], now: tuple[float, float]) -> tuple[float, float]:
    """The (cap, ms) to choose: `now` if within 1 % of the best, else the largest cap that is."""
    good = 1.01 * min(ms for _, ms in [*curve, now])
    if now[1] <= good:
        return now
    return [(cap, ms) for cap, ms in curve if ms <= good][-1]


def _bert_base() -> tuple[Layer, ...]:
    """BERT-base in float32, 418 MiB: embeddings of 23.8 M, 12 blocks of 7.1 M, a 0.6 M pooler."""
    blocks = [
        layer
        for i in range(12)
        for layer in (Layer(f"block {i} attention", 9.0, 1.3), Layer(f"block {i} MLP", 18.0, 2.6))
    ]
    return (Layer("embeddings", 90.9, 1.0), *blocks, Layer("pooler", 2.3, 0.2))


def _resnet50() -> tuple[Layer, ...]:
    """ResNet-50 in float32: small convolutions that compute long, then ever wider ones; 97 MiB."""
    stages = (
        ("stage 1", 3, 0.3, 3.2),
        ("stage 2", 4, 1.2, 2.9),
        ("stage 3", 6, 4.5, 2.7),
        ("stage 4", 3, 19.0, 2.9),
    )
    blocks = [
        Layer(f"{name} block {i}", mib, ms) for name, count, mib, ms in stages for i in range(count)
    ]
    return (Layer("stem", 0.04, 2.5), *blocks, Layer("classifier", 7.8, 0.2))


def _vgg16() -> tuple[Layer, ...]:
    """VGG-16 in float32, 528 MiB: three quarters in the layer whose gradient comes third."""
    mib = (0.01, 0.14, 0.28, 0.56, 1.1, 2.3, 2.3, 4.5, 9.0, 9.0, 9.0, 9.0, 9.0)
    backward_ms = (3.0, 9.0, 4.5, 8.0, 4.0, 7.5, 7.5, 3.6, 7.0, 7.0, 1.8, 1.8, 1.8)
    return (
        *(Layer(f"convolution {i}", mib[i], backward_ms[i]) for i in range(len(mib))),
        Layer("linear 0", 392.0, 1.6),
        Layer("linear 1", 64.0, 0.3),
        Layer("linear 2", 15.6, 0.1),
    )


# Sizes are the models' own; times are of a GPU at about 30 TFLOP/s with a batch of 32, rounded.
MODELS = {"BERT-base": _bert_base(), "ResNet-50": _resnet50(), "VGG-16": _vgg16()}
