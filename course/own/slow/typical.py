"""A typical step of each rank, for a picture and for other programs."""

from dataclasses import asdict, dataclass, replace
from statistics import median_low

from course.own.slow.budget import TRAFFIC, Budget, judged
from course.own.watch.timeline import WAITS, Slice

SHORT = 0.004  # of the step: a shorter stretch goes to the one before it


@dataclass(frozen=True)
class Stretch:
    """What a rank does from `start` to `end`, in seconds since the step began on the first rank.

    `kind` is a kind of own work, ``communication`` (exposed), ``hidden communication`` (while the
    rank computes) or ``waiting``, then `rank` is for whom.
    """

    kind: str
    start: float
    end: float
    where: str = ""
    rank: int | None = None


def lanes(budget: Budget) -> dict[int, list[Stretch]]:
    """The stretches of every rank in a step that is neither long nor short."""
    steps = [judged(budget.ranks, rank) for rank in budget.ranks]
    lengths = [step.end - step.start for step in steps[0]]
    number = lengths.index(median_low(lengths))
    begin = min(each[number].start for each in steps)
    if len({rank.local for rank in budget.ranks}) > 1 or budget.ranks[0].local < len(steps):
        begin = None  # of several machines, each has a clock of its own
    found = {}
    for index, rank in enumerate(budget.ranks):
        step = steps[index][number]
        zero = step.start if begin is None else begin
        whole = step.end - step.start
        last = _last(budget, number, index)
        stretches = [
            stretch
            for slice_ in budget.sliced[number][index]
            for stretch in _stretches(budget, number, index, slice_, last)
        ]
        hidden = [
            Stretch("hidden communication", pass_.end - pass_.overlap, pass_.end)
            for pass_ in step.passes
            if pass_.overlap > SHORT * whole
        ]
        found[rank.rank] = [
            replace(each, start=each.start - zero, end=each.end - zero)
            for each in (*_joined(stretches, SHORT * whole), *hidden)
        ]
    return found


def plain(stretches: dict[int, list[Stretch]]) -> dict[str, list[dict]]:
    """As JSON, times rounded to a microsecond."""
    return {
        str(rank): [
            asdict(each) | {"start": round(each.start, 6), "end": round(each.end, 6)}
            for each in lane
        ]
        for rank, lane in stretches.items()
    }


def _last(budget: Budget, number: int, index: int) -> int | None:
    """The rank that has most to do in a step; None if it is this one."""
    step = budget.steps[number]
    last = max(range(len(step)), key=lambda rank: step[rank].work)
    return None if last == index else budget.ranks[last].rank


def _stretches(
    budget: Budget, number: int, index: int, slice_: Slice, last: int | None
) -> list[Stretch]:
    """A slice as stretches: what is a wait ends with the message's own time."""
    if slice_.kind == "watching":
        return []
    if slice_.kind not in WAITS:
        kind = "search for unused parameters" if slice_.kind == "search" else slice_.kind
        return [Stretch(kind, slice_.start, slice_.end, slice_.where)]
    step = budget.steps[number]
    mine = sum(step[index].waits.values())
    price = sum(min(share.waits[traffic] for share in step) for traffic in TRAFFIC)
    share = 1 - price / mine if mine else 0.0
    cut = slice_.start + share * (slice_.end - slice_.start)
    return [
        Stretch("waiting", slice_.start, cut, slice_.where, last),
        Stretch("communication", cut, slice_.end, slice_.where),
    ]


def _joined(stretches: list[Stretch], short: float) -> list[Stretch]:
    """Neighbours of one kind as one stretch, and what is too short to see as part of another."""
    found: list[Stretch] = []
    for each in stretches:
        same = found and found[-1].kind == each.kind
        if found and (same or each.end - each.start < short):
            found[-1] = replace(found[-1], end=each.end)
        elif each.end > each.start:
            found.append(each)
    return found
