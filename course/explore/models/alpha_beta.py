"""The α–β model: a message of m bytes takes α + β·m seconds, whatever it holds.

α is the cost of even the smallest message, and β is what each byte adds; 1/β is the bandwidth. An
algorithm that sends a messages in sequence, with b bytes in total, takes a·α + b·β. Hockney,
"The communication challenge for MPP" (Parallel Computing 20, 1994) is the usual source of the
model.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from course.core import CourseError

# The number of messages in sequence, the bytes that they carry in total, the measured seconds.
Point = tuple[float, float, float]


@dataclass(frozen=True)
class AlphaBeta:
    """A network: `alpha` seconds per message and `beta` seconds per byte."""

    alpha: float
    beta: float

    @classmethod
    def of(cls, latency_us: float, gb_per_s: float) -> "AlphaBeta":
        """Make a network from its latency in µs and its bandwidth in GB/s (10⁹ bytes a second).

        Raises `CourseError` for a latency below 0, or a bandwidth that is not above 0.
        """
        if latency_us < 0 or gb_per_s <= 0:
            raise CourseError(
                "A network needs a latency of 0 µs or more and a bandwidth above 0 GB/s."
            )
        return cls(latency_us * 1e-6, 1e-9 / gb_per_s)

    @property
    def latency_us(self) -> float:
        """The cost of even the smallest message, in µs."""
        return self.alpha * 1e6

    @property
    def gb_per_s(self) -> float:
        """The bandwidth in GB/s, infinite if bytes cost nothing."""
        return 1e-9 / self.beta if self.beta else float("inf")

    def seconds(self, messages: float, size: float) -> float:
        """The time in seconds of `messages` in sequence that carry `size` bytes in total."""
        return messages * self.alpha + size * self.beta


def fit(points: Iterable[Point]) -> AlphaBeta:
    """Fit α and β to measured times, by least squares of the *relative* errors.

    The errors are relative because times span five orders of magnitude: the absolute errors of
    long times would drown the short ones, which alone determine α. If α or β would become negative,
    it is set to 0, and the other is fitted alone. Raises `CourseError` for fewer than two different
    points, or times that are not above 0.
    """
    measured = [(float(a), float(b), float(t)) for a, b, t in points]
    if any(not t > 0 for _, _, t in measured):
        raise CourseError("A fit needs measured times above 0 seconds.")
    rows = [(a / t, b / t) for a, b, t in measured]  # α·row[0] + β·row[1] should be 1
    aa, ab, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(row[0] for row in rows), sum(row[1] for row in rows)
    determinant = aa * bb - ab * ab
    if not determinant > 1e-12 * aa * bb:
        raise CourseError("A fit of α and β needs measurements of at least two different sizes.")
    alpha, beta = (bb * a - ab * b) / determinant, (aa * b - ab * a) / determinant
    if alpha < 0:
        return AlphaBeta(0.0, b / bb)
    if beta < 0:
        return AlphaBeta(a / aa, 0.0)
    return AlphaBeta(alpha, beta)


def bus_gb_per_s(size: float, seconds: float, ranks: int) -> float:
    """The bus bandwidth of an all-reduce of `size` bytes in GB/s, as nccl-tests define it.

    It is the least that each rank must send, 2(N−1)/N of the buffer, divided by the time. It can be
    compared with the bandwidth of the link for any number of ranks and any algorithm.
    """
    return 2 * (ranks - 1) / ranks * size / seconds / 1e9
