"""Estimate how long a step takes on several GPUs, where it also has to send messages.

Messages travel while the GPU computes, as far as the script lets them. So an estimate is a range:
from all of them hidden behind computation to none. Their time follows the α–β model, fitted to
all-reduces that others have published.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from course.charts import published
from course.diagnostics.fit.client import Rehearsal
from course.explore.models import alpha_beta

# The names of published machines: of one node, and of several.
NEAR, FAR = ("8 H100", "4 GPUs over PCIe"), ("16 H100, 2 nodes",)
ONE_NODE = 8  # GPUs


@dataclass(frozen=True)
class Forecast:
    """The time of a step on GPUs with the `link` of a `machine` that others have measured.

    `by` says who measured it. `longest` is the time in seconds if no message is hidden.
    """

    link: str
    machine: str
    by: str
    longest: float


def forecasts(rehearsal: Rehearsal, alone: float) -> Iterator[Forecast]:
    """Yield the forecast for each machine, if a step takes `alone` seconds on one GPU."""
    traffic = rehearsal.account.traffic
    names = NEAR if rehearsal.ranks <= ONE_NODE else FAR
    for curve in published.all_reduces():
        if curve.name in names and curve.ranks is not None:
            messages = _network(curve, curve.ranks).seconds(traffic.hops, traffic.nbytes)
            yield Forecast(curve.link, curve.machine, curve.by, alone + messages)


def _network(curve: published.Curve, ranks: int) -> alpha_beta.AlphaBeta:
    """Fit α (seconds) and β (seconds per byte) to a machine's all-reduces, taken to be rings."""
    hops = 2 * (ranks - 1)
    sent = [(hops / ranks * size, rate * 1e9) for size, rate in curve.figures]
    return alpha_beta.fit((hops, nbytes, nbytes / rate) for nbytes, rate in sent)
