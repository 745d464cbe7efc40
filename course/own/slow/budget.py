"""What a step is made of: the work of each rank, and what messages between them take.

No common clock is needed. Where ranks meet, in a message, all leave at about the same time, so the
one that spends least there came last, and its time is the price of the message itself. What the
others spend beyond it, they wait for the last one (lab 08). A step then takes as long as the rank
with the most work of its own, and the price of the messages. All times are without those in which
a thread waited for a core that other processes had.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from statistics import mean, median, median_low

from course.own.watch.timeline import ASYNC, OWN, Pass, Rank, Slice, Step

FEWEST = 3  # steps, or nothing can be said
OF_GRADIENTS = 0.1  # a line that sends this share of their bytes in a step sends gradients
USUAL = 2  # times the median, which the gradients of a step take at most; more is the machine's
# What messages are for: the model's gradients and parameters; gradients of passes that take no
# step; buffers; what the script itself does outside of model and gradients; from one to another.
TRAFFIC = ("gradients", "early", "buffers", "synchronization", "messages")
LOSS = 64  # bytes: a number or a few, such as the loss, are not the model's
ONE_TO_ONE = ("send", "recv", "batch_isend_irecv", "wait")
OBJECTS = ("barrier", "object", "monitored")

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
class Budget:
    """The steps that are judged: for each, the share of every rank."""

    ranks: list[Rank]
    steps: list[list[Share]]
    sliced: list[list[list[Slice]]]  # the slices behind `steps`, tails cut off from backward

    @property
    def step_s(self) -> float:
        """The mean length of a step by the clock, without what watching it takes."""
        return mean(
            sum(slice_.end - slice_.start for slice_ in slices if slice_.kind != "watching")
            for step in self.sliced
            for slices in step
        )

    @property
    def watching_s(self) -> float:
        """How much longer a step took because it was watched, as far as the recorder knows."""
        steps = [step for rank in self.ranks for step in judged(self.ranks, rank)]
        return mean(step.end - step.start for step in steps) - self.step_s

    @property
    def net_s(self) -> float:
        """The mean length of a step without waiting for a core."""
        return length(self.steps)

    def mean_own(self, kind: str) -> float:
        """Seconds per step of one kind of work, the mean over ranks."""
        return mean(share.own[kind] for step in self.steps for share in step)

    def price(self, traffic: str) -> float:
        """Seconds per step that such messages take where nobody waits for anyone."""
        return mean(_price(step, traffic) for step in self.steps)

    @property
    def averages(self) -> bool:
        """Whether ranks send one another gradients, in however short a time."""
        sent = self.slices(("collective", "tail"))
        return any(self.traffic(each) == "gradients" for each in sent)

    def waited(self, rank: int) -> float:
        """Seconds per step that a rank waits for others."""
        return mean(
            sum(step[rank].waits[traffic] - _price(step, traffic) for traffic in TRAFFIC)
            for step in self.steps
        )

    @property
    def passes(self) -> list[Pass]:
        """What DDP says of the last backward pass of each step and rank."""
        steps = [step for rank in self.ranks for step in judged(self.ranks, rank)]
        return [step.passes[-1] for step in steps if step.passes]

    def slices(self, kinds: Iterable[str], rank: int | None = None) -> Iterator[Slice]:
        """All slices of these kinds, of all ranks or of one."""
        return (
            slice_
            for step in self.sliced
            for number, slices in enumerate(step)
            for slice_ in slices
            if slice_.kind in kinds and rank in (None, number)
        )

    def where(self, *kinds: str, traffic: str = "", rank: int | None = None) -> str:
        """The line of the user's where most time of these kinds is spent; "" if none is known."""
        lines: Counter[str] = Counter()
        for slice_ in self.slices(kinds, rank):
            if slice_.where and (not traffic or self.traffic(slice_) == traffic):
                lines[slice_.where] += slice_.seconds
        if lines:
            return lines.most_common(1)[0][0]
        asked = self.ranks if rank is None else [self.ranks[rank]]
        return next(
            (each.lines[kind] for each in asked for kind in kinds if kind in each.lines), ""
        )

    def traffic(self, slice_: Slice) -> str:
        """What a wait is for, one of `TRAFFIC`, but for ``early``."""
        return _traffic(slice_, self._senders)

    def __post_init__(self) -> None:
        self._senders = _senders(self.ranks)


def of(ranks: list[Rank]) -> Budget:
    """The budget of what the ranks have told; needs `FEWEST` steps of each."""
    senders = _senders(ranks)
    sliced = [
        list(step)
        for step in zip(
            *([_cut(step, rank.iterating) for step in judged(ranks, rank)] for rank in ranks),
            strict=True,
        )
    ]
    steps = [[_share(slices, senders) for slices in step] for step in sliced]
    if all(rank.device != "cuda" for rank in ranks):
        _cap(steps)
    return Budget(ranks, steps, sliced)


def judged(ranks: list[Rank], rank: Rank) -> list[Step]:
    """The steps of a rank that are judged: those that no rank begins an epoch in, if enough."""
    count = min(len(each.steps) for each in ranks)
    opening = {n for each in ranks for n, step in enumerate(each.steps) if step.opens}
    plain = [step for n, step in enumerate(rank.steps[:count]) if n not in opening]
    return plain if len(plain) >= FEWEST else rank.steps[:count]


def length(steps: list[list[Share]]) -> float:
    """The mean step: the most work of a rank, and the price of the messages."""
    return mean(
        max(share.work for share in step) + sum(_price(step, traffic) for traffic in TRAFFIC)
        for step in steps
    )


def without(steps: list[list[Share]], kind: str) -> list[list[Share]]:
    """The same steps if no rank had any work of a kind."""
    return [[replace(share, own=share.own | {kind: 0.0}) for share in step] for step in steps]


def evened(steps: list[list[Share]], rank: int, kind: str) -> list[list[Share]]:
    """The same steps if a rank had no more work of a kind than the others."""
    return [
        [
            replace(share, own=share.own | {kind: min(share.own[kind], others(step, rank, kind))})
            if number == rank
            else share
            for number, share in enumerate(step)
        ]
        for step in steps
    ]


def others(step: list[Share], rank: int, kind: str) -> float:
    """What the ranks but one typically have of a kind of work in a step."""
    return median_low([share.own[kind] for n, share in enumerate(step) if n != rank])


def _price(step: list[Share], traffic: str) -> float:
    return min(share.waits[traffic] for share in step)


def _share(slices: list[Slice], senders: set[str]) -> Share:
    share = Share()
    for slice_ in slices:
        if slice_.kind in share.own:
            share.own[slice_.kind] += slice_.seconds
        elif slice_.kind != "watching":
            traffic = _traffic(slice_, senders)
            early = traffic == "gradients" and _is_early(slice_, slices)
            share.waits["early" if early else traffic] += slice_.seconds
    return share


def _cap(steps: list[list[Share]]) -> None:
    """Takes from every rank's waits what gradients took in a step beyond `USUAL` times the median.

    On CPUs, cores carry the messages: now and then these must wait for a core, for many times as
    long as they take, and no thread of the script's shows it.
    """
    prices = [_price(step, "gradients") for step in steps]
    if not any(prices):
        return
    ceiling = USUAL * median(filter(None, prices))
    for step, price in zip(steps, prices, strict=True):
        for share in step:
            share.waits["gradients"] -= max(0.0, price - ceiling)


def _cut(step: Step, iterating: float) -> list[Slice]:
    """The slices of a step, those cut in two in which a thread did one thing after the other.

    What is left of a backward slice after DDP's last gradient is a tail: there the thread only
    waits for messages. Before that it computes: time in which it did not compute, though it could
    have, was waiting for a core. A share of python is input, where an iterator gives the batches.
    """
    found = []
    for slice_ in step.slices:
        ready = [p.end for p in step.passes if slice_.start < p.end < slice_.end]
        if slice_.kind == "backward" and ready:
            cut = max(ready)
            queued = min(slice_.queued, max(0.0, cut - slice_.start - slice_.cpu))
            rest = slice_.queued - queued
            found.append(replace(slice_, end=cut, queued=queued))
            found.append(replace(slice_, kind="tail", start=cut, queued=rest, within="backward"))
        elif slice_.kind == "python" and iterating:
            cut = slice_.start + iterating * (slice_.end - slice_.start)
            queued = iterating * slice_.queued
            found.append(replace(slice_, kind="input", end=cut, queued=queued))
            found.append(replace(slice_, start=cut, queued=slice_.queued - queued))
        else:
            found.append(slice_)
    return found


def _is_early(slice_: Slice, slices: list[Slice]) -> bool:
    """Whether another backward pass follows its own before the optimizer takes a step.

    What a forward pass needs, such as FSDP's parameters, every pass needs.
    """
    if slice_.turn == 0 or slice_.within == "forward":
        return False
    later = (each for each in slices if each.start >= slice_.end)
    for each in later:
        if each.kind == "optimizer":
            return False
        if each.turn > slice_.turn:
            return True
    return False


def _senders(ranks: list[Rank]) -> set[str]:
    """The lines that send gradients: in a step, at least a share of all their bytes."""
    sent: Counter[str] = Counter()
    steps = [step for rank in ranks for step in rank.steps]
    for step in steps:
        for slice_ in step.slices:
            if slice_.kind == "collective" and not _is_talk(slice_):
                sent[slice_.where] += slice_.nbytes
    bytes_ = max(rank.gradients for rank in ranks)
    least = OF_GRADIENTS * max(1, bytes_) * len(steps)
    return {line for line, total in sent.items() if total >= least}


def is_sum_in_forward(slice_: Slice) -> bool:
    """Whether it adds up the parts of a layer that is split between ranks."""
    summed = slice_.name.startswith("all_reduce") and slice_.nbytes > LOSS
    return summed and slice_.within == "forward"


def _is_talk(slice_: Slice) -> bool:
    """Whether it carries no tensor of the model: a barrier, or objects."""
    return any(word in slice_.name for word in OBJECTS)


def _traffic(slice_: Slice, senders: set[str]) -> str:
    if slice_.kind in ("tail", "buffers"):
        return {"tail": "gradients", "buffers": "buffers"}[slice_.kind]
    name = slice_.name.removesuffix(f", {ASYNC}")
    if _is_talk(slice_):
        return "synchronization"
    if name in ONE_TO_ONE:
        return "messages"
    inside = slice_.within in ("forward", "backward", "optimizer") and slice_.nbytes > LOSS
    return "gradients" if inside or slice_.where in senders else "synchronization"
