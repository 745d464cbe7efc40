"""Judges a ring all-reduce: does it end, is the sum right on every rank, and is it a ring?

What follows the first fault is not judged.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from course.commands.web.ring import hang
from course.commands.web.ring.replay import Failure, Run, compiled, run
from course.commands.web.ring.tensors import shown

RANKS, LENGTH = 4, 8  # of the run that is drawn
OTHERS = ((1, 3), (2, 5), (3, 3), (3, 10), (5, 12), (5, 3), (4, 9))  # ranks and length of others
CLOSE = 1e-9  # how far rounding may take a sum from the true one


@dataclass(frozen=True)
class Verdict:
    """One line of the check: what is asked, and whether it holds; `holds` None is not judged."""

    asked: str
    holds: bool | None
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """What the check says, and the `run` that is drawn, if there was one."""

    verdicts: tuple[Verdict, ...]
    run: Run | None

    @property
    def passed(self) -> bool:
        """Whether all holds."""
        return all(verdict.holds for verdict in self.verdicts)


def vectors(ranks: int = RANKS, length: int = LENGTH) -> list[list[float]]:
    """Numbers whose digits say whose they are: rank 0 has 1 2 3 …, rank 1 has 10 20 30 …"""
    return [[float((i + 1) * 10**rank) for i in range(length)] for rank in range(ranks)]


def check(source: str) -> Report:
    """The report on a learner's source."""
    code = compiled(source)
    if isinstance(code, Failure):
        return Report(_lines({"ends": _failed(code)}), None)
    shown_run = run(code, vectors())
    faults = {
        "ends": lambda: _stuck(shown_run, source),
        "waited": lambda: _loose(shown_run),
        "sum": lambda: _wrong_sum(shown_run),
        "others": lambda: _wrong_elsewhere(code, source),
        "ring": lambda: _no_ring(shown_run),
    }
    found = {}
    for name, fault in faults.items():
        found[name] = tuple(fault())
        if found[name]:
            break
    return Report(_lines(found), shown_run)


ASKED = {
    "ends": f"All {RANKS} ranks come to an end.",
    "waited": "Every send and receive is waited for.",
    "sum": "Every rank holds the sums.",
    "others": "The same holds with 1, 2, 3 and 5 ranks, and for lengths that they do not divide.",
    "ring": f"It is a ring: {2 * (RANKS - 1)} messages per rank, each a chunk to the right.",
}


def _lines(found: dict[str, tuple[str, ...]]) -> tuple[Verdict, ...]:
    return tuple(
        Verdict(asked, not found[name] if name in found else None, found.get(name, ()))
        for name, asked in ASKED.items()
    )


def _failed(failure: Failure, whose: str = "") -> tuple[str, ...]:
    where = f"line {failure.line}: " if failure.line else ""
    said = f"{whose}{where}{failure.words}"
    return (said[0].upper() + said[1:],)


def _stuck(done: Run, source: str) -> tuple[str, ...]:
    """The first error, or who waits for whom."""
    for rank, failure in sorted(done.failures.items()):
        return _failed(failure, f"rank {rank}, " if failure.line else "")
    return tuple(hang.told(done, source)) if done.waits else ()


def _loose(done: Run) -> Iterator[str]:
    for posts in done.world.posts:
        for post in posts:
            if not post.waited:
                yield (
                    f"Rank {post.rank} never waits for its {post.words}, line {post.line}. Only "
                    "wait() makes sure that the numbers have arrived."
                )
                return


def _wrong_sum(done: Run) -> Iterator[str]:
    """What is wrong with the first wrong number, and how many are right."""
    wanted = _total(vectors())
    wrong = [
        (rank, i)
        for rank, vector in enumerate(done.vectors)
        for i in range(LENGTH)
        if vector[i] != wanted[i]
    ]
    if not wrong:
        return
    rank, i = wrong[0]
    value = done.vectors[rank][i]
    yield (
        f"Rank {rank} has {shown(value)} at index {i} instead of {shown(wanted[i])}: "
        f"{_diagnosis(value, wanted[i], i)}."
    )
    everything = RANKS * LENGTH
    yield f"{everything - len(wrong)} of {everything} numbers are complete sums."


def _diagnosis(value: float, wanted: float, i: int) -> str:
    if math.isnan(value):
        return "it was never received"
    if value == wanted / RANKS:
        return "that is the mean, and an all-reduce gives the sum"
    counts = terms(value, i)
    if counts is None:
        return "numbers of other places are in it"
    missing = [rank for rank, count in enumerate(counts) if count == 0]
    often = [rank for rank, count in enumerate(counts) if count > 1]
    said = [f"{_of(missing)} not in it"] if missing else []
    said += [f"{_of(often)} in it too often, or comes from another place"] if often else []
    return ", and ".join(said)


def _of(ranks: list[int]) -> str:
    """Whose numbers: "what rank 1 holds is", "what ranks 1, 2 hold is"."""
    if len(ranks) == 1:
        return f"what rank {ranks[0]} holds is"
    return f"what ranks {', '.join(map(str, ranks))} hold is"


def terms(value: float, i: int, ranks: int = RANKS) -> list[int] | None:
    """How often each rank's number is in the `value` at index `i`; None if others are in it."""
    if not math.isfinite(value):
        return None
    quotient, rest = divmod(value, i + 1)
    if rest or not 0 <= quotient < 10**ranks:
        return None
    return [int(quotient) // 10**rank % 10 for rank in range(ranks)]


def _wrong_elsewhere(code: CodeType, source: str) -> tuple[str, ...]:
    for ranks, length in OTHERS:
        given = [[0.1 * (rank + 1) * (i + 1) for i in range(length)] for rank in range(ranks)]
        done = run(code, given)
        many = f"{ranks} rank{'s' * (ranks > 1)} and {length} numbers"
        if fault := _stuck(done, source) or tuple(_loose(done)):
            return (f"With {many}:", *fault)
        for rank, vector in enumerate(done.vectors):
            for i, (value, wanted) in enumerate(zip(vector, _total(given), strict=True)):
                if not abs(value - wanted) < CLOSE:
                    return (
                        f"With {many}, rank {rank} has {value:g} at index {i} instead of "
                        f"{wanted:g}.",
                    )
            if vector != done.vectors[0]:
                return (
                    f"With {many}, ranks 0 and {rank} differ in the last bits: they have added in "
                    "different orders. Each sum must be made once, then handed out.",
                )
    return ()


def _no_ring(done: Run) -> Iterator[str]:
    chunk = LENGTH // RANKS
    for rank, posts in enumerate(done.world.posts):
        for post in posts:
            if post.peer is None:
                yield f"Rank {rank} calls dist.{post.call}, line {post.line}: use messages alone."
                return
        sent = [post for post in done.world.sent() if post.rank == rank]
        right = (rank + 1) % RANKS
        astray = [post.peer for post in sent if post.peer != right]
        if astray:
            yield (
                f"The sums are right, but this is not a ring: rank {rank} sends to rank "
                f"{astray[0]}, and its right neighbour is {right}."
            )
            return
        if len(sent) != 2 * (RANKS - 1) or any(post.size != chunk for post in sent):
            sizes = ", ".join(str(post.size) for post in sent)
            yield (
                f"The sums are right, but rank {rank} sends {len(sent)} messages of {sizes} "
                f"numbers. A ring needs {2 * (RANKS - 1)} messages of {chunk}."
            )
            return


def _total(given: list[list[float]]) -> list[float]:
    return [math.fsum(column) for column in zip(*given, strict=True)]
