"""Extrapolate the account of a model with all its layers from runs with fewer of them."""

from bisect import bisect_right
from collections import Counter
from dataclasses import astuple

from course.diagnostics.fit.account import Account, Traffic, time_in_steps
from course.diagnostics.fit.record import KINDS, Record

Peak = tuple[dict[str, int], str]  # the bytes by kind, and the line that allocated the last piece
Counted = tuple[Record, Account]  # a run, and what it adds up to


def extrapolate(runs: dict[int, Counted], sizes: list[int], size: int) -> Account | None:
    """The account for `size` layers, by lines through the runs with two numbers of layers.

    The peak of each phase lies on such a line, unless it moves to another place within the phase.
    None if the two runs did not go through the same phases.
    """
    (low, low_account), (high, high_account) = (runs[known] for known in sizes)
    if [name for _, name in low.phases] != [name for _, name in high.phases]:
        return None
    distance = (size - sizes[1]) / (sizes[1] - sizes[0])

    def line(before: float, after: float) -> float:
        return max(0.0, after + distance * (after - before))

    peaks = [
        ({kind: round(line(before[kind], after[kind])) for kind in KINDS}, at)
        for (before, _), (after, at) in zip(_peaks(low), _peaks(high), strict=True)
    ]
    totals = [sum(by.values()) for by, _ in peaks]
    peak = max(totals)
    number = totals.index(peak)
    begin, phase = high.phases[number]
    return Account(
        peak,
        *peaks[number],
        1 + bisect_right(high.steps, begin),
        phase,
        [
            (time_in_steps(high, begin), by)
            for (begin, _), (by, _) in zip(high.phases, peaks, strict=True)
        ],
        len(high.steps),
        high.uses_gpu,
        round(line(low_account.host, high_account.host)),
        round(peak * high_account.reserved / high_account.peak),
        Traffic(*map(line, astuple(low_account.traffic), astuple(high_account.traffic))),
    )


def _peaks(record: Record) -> list[Peak]:
    """The peak of each phase of a run."""
    counted = record.counted
    held: Counter[str] = Counter()
    peaks: list[Peak] = []
    begins = [begin for begin, _ in record.phases]
    for begin, end in zip(begins, [*begins[1:], len(record.events)], strict=True):
        most, at = held.copy(), ""
        for number, change in record.events[begin:end]:
            storage = record.storages[number]
            if counted[number]:
                held[storage.kind] += change
                if held.total() > most.total():
                    most, at = held.copy(), storage.line
        peaks.append(({kind: most[kind] for kind in KINDS}, at))
    return peaks
