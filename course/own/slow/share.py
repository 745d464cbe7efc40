"""What the ranks do in a step, in seconds, and how long a step would be without some of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import fmean, median, median_low

from course.own.slow.thresholds import USUAL
from course.own.watch.timeline import OWN

# What messages are for: the model's gradients and parameters; gradients of passes that take no
# step; buffers; what the script itself does outside of model and gradients; from one to another.
TRAFFIC = ("gradients", "early", "buffers", "synchronization", "messages")

Seconds = dict[str, float]


@dataclass
class Share:
    """One step of one rank: seconds of its `own` work by kind, and of its `waits` by traffic."""

    own: Seconds = field(default_factory=lambda: dict.fromkeys(OWN, 0.0))
    waits: Seconds = field(default_factory=lambda: dict.fromkeys(TRAFFIC, 0.0))

    @property
    def work(self) -> float:
        """All its own work."""
        return sum(self.own.values())


@dataclass
class Round:
    """One step of all ranks, and its weight in a mean (`epochs`)."""

    shares: list[Share]
    weight: float = 1.0

    def price(self, traffic: str) -> float:
        """What such a message costs by itself: the wait of the rank that waits least."""
        return min(share.waits[traffic] for share in self.shares)

    @property
    def prices(self) -> float:
        """What all messages take."""
        return sum(self.price(traffic) for traffic in TRAFFIC)

    def spread(self, kind: str = "") -> float:
        """How far the rank with most work, or with most of a kind, is above the mean."""
        work = [share.own[kind] if kind else share.work for share in self.shares]
        return max(work) - fmean(work)

    def others(self, rank: int, kind: str) -> float:
        """What the ranks but one typically have of a kind of work."""
        return median_low([share.own[kind] for n, share in enumerate(self.shares) if n != rank])


def mean(rounds: list[Round], of: Callable[[Round], float]) -> float:
    """The mean of something over rounds, each with its weight."""
    return fmean(map(of, rounds), [each.weight for each in rounds])


def length(rounds: list[Round]) -> float:
    """The mean step: the most work of a rank, and the price of the messages."""
    return mean(rounds, lambda each: max(share.work for share in each.shares) + each.prices)


def without(rounds: list[Round], kind: str) -> list[Round]:
    """The same if no rank had any work of a kind."""
    return [
        Round([replace(share, own=share.own | {kind: 0.0}) for share in each.shares], each.weight)
        for each in rounds
    ]


def evened(rounds: list[Round], rank: int, kind: str) -> list[Round]:
    """The same if a rank had no more work of a kind than the others."""
    return [
        Round(
            [
                replace(
                    share, own=share.own | {kind: min(share.own[kind], each.others(rank, kind))}
                )
                if number == rank
                else share
                for number, share in enumerate(each.shares)
            ],
            each.weight,
        )
        for each in rounds
    ]


def levelled(rounds: list[Round], kind: str) -> list[Round]:
    """The same if in each step all ranks had as much work of a kind: the mean of what they had."""
    return [
        Round(
            [
                replace(share, own=share.own | {kind: fmean(s.own[kind] for s in each.shares)})
                for share in each.shares
            ],
            each.weight,
        )
        for each in rounds
    ]


def cap(rounds: list[Round]) -> None:
    """Take from every rank's waits what gradients took in a step beyond `USUAL` times the median.

    On CPUs, cores carry the messages: now and then these must wait for a core, for many times as
    long as they take, and no thread of the script's shows it.
    """
    prices = [each.price("gradients") for each in rounds]
    if not any(prices):
        return
    ceiling = USUAL * median(filter(None, prices))
    for each, price in zip(rounds, prices, strict=True):
        for share in each.shares:
            share.waits["gradients"] -= max(0.0, price - ceiling)
