"""Check a ring all-reduce: it ends, the sum is right on every rank, and it is a ring.

The check stops at the first fault: the claims after it are not judged.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from course.commands.web.ring import replay
from course.commands.web.ring.replay import Failure, Replay
from course.commands.web.ring.tensors import shown
from course.commands.web.ring.world import RECEIVES, SENDS

RANKS, LENGTH = 4, 8  # of the run in the pictures
OTHERS = ((1, 3), (2, 5), (3, 3), (5, 12), (5, 3), (4, 9))  # ranks and length of other runs
CLOSE = 1e-9  # how much rounding may change a sum
CLAIMS = {
    "ends": f"All {RANKS} ranks come to an end.",
    "waited": "Every send and receive is waited for.",
    "sum": "Every rank holds the sums.",
    "others": "The same holds with 1, 2, 3 and 5 ranks, and for lengths that they do not divide.",
    "ring": f"It is a ring: {2 * (RANKS - 1)} messages per rank, each a chunk to the right.",
}


@dataclass(frozen=True)
class ClaimVerdict:
    """One line of the check: the `claim`, and whether it `holds` (None: not judged)."""

    claim: str
    holds: bool | None
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """The verdicts of the check, and the `run` to draw, if there was one."""

    verdicts: tuple[ClaimVerdict, ...]
    run: Replay | None

    @property
    def passed(self) -> bool:
        """Whether everything holds."""
        return all(verdict.holds for verdict in self.verdicts)


def vectors() -> list[list[float]]:
    """Numbers whose digits show their rank: rank 0 has 1 2 3 …, rank 1 has 10 20 30 …"""
    return [[float((i + 1) * 10**rank) for i in range(LENGTH)] for rank in range(RANKS)]


def judge(source: str) -> Judgement:
    """Judge a learner's source."""
    code = replay.compiled(source)
    if isinstance(code, Failure):
        return Judgement(_verdicts({"ends": (_error(code),)}), None)
    drawn = replay.run(code, vectors())
    faults = {
        "ends": lambda: _stuck(drawn, source),
        "waited": lambda: _never_waited(drawn),
        "sum": lambda: _wrong_sum(drawn),
        "others": lambda: _wrong_elsewhere(code, source),
        "ring": lambda: _not_a_ring(drawn),
    }
    answers = {}
    for name, fault in faults.items():
        answers[name] = tuple(fault())
        if answers[name]:
            break
    return Judgement(_verdicts(answers), drawn)


def _verdicts(answers: dict[str, tuple[str, ...]]) -> tuple[ClaimVerdict, ...]:
    return tuple(
        ClaimVerdict(claim, not answers[name] if name in answers else None, answers.get(name, ()))
        for name, claim in CLAIMS.items()
    )


def _error(failure: Failure, rank: int | None = None) -> str:
    place = f"Line {failure.line}" if failure.line else ""
    if place and rank is not None:
        place = f"Rank {rank}, line {failure.line}"
    return f"{place}: {failure.words}" if place else failure.words


def _stuck(run: Replay, source: str) -> tuple[str, ...]:
    """The first error, or the ranks that wait for each other; empty if all ranks end."""
    for rank, failure in sorted(run.failures.items()):
        return (_error(failure, rank),)
    return tuple(_hang(run, source)) if run.waits else ()


def _hang(run: Replay, source: str) -> Iterator[str]:
    """A line for each rank, then the reason why they wait."""
    lines = source.splitlines()
    for rank in range(run.world.size):
        if wait := run.waits.get(rank):
            code = lines[wait.line - 1].strip()
            yield f"Rank {rank} waits in {wait.post.words}, line {wait.line}: {code}"
        else:
            yield f"Rank {rank} has come to its end."
    path = [min(run.waits)]
    while (after := run.waits[path[-1]].post.peer) in run.waits and after not in path:
        path.append(after)
    if after not in path:
        yield f"Rank {path[-1]} waits for rank {after}, which has come to its end."
        return
    circle = path[path.index(after) :]
    calls = {run.waits[rank].post.call for rank in circle}
    if calls <= set(SENDS):
        why = "A send is over when the other rank receives, but here each of them sends first."
    elif calls <= set(RECEIVES):
        why = "Each of them wants to receive before it sends, so nothing is ever sent."
    else:
        why = "What one of them waits for, the next would do only later."
    yield f"They wait in a circle, {' → '.join(map(str, [*circle, after]))}. {why}"


def _never_waited(run: Replay) -> Iterator[str]:
    """The first message that nobody waits for."""
    for post in (post for posts in run.world.posts for post in posts if not post.waited):
        yield (
            f"Rank {post.rank} never waits for its {post.words}, line {post.line}. Only wait() "
            "makes sure that the numbers have arrived."
        )
        return


def _wrong_sum(run: Replay) -> Iterator[str]:
    """The fault of the first wrong number, and how many numbers are right."""
    sums = _total(vectors())
    wrong = [
        (rank, i)
        for rank, vector in enumerate(run.vectors)
        for i in range(LENGTH)
        if vector[i] != sums[i]
    ]
    if wrong:
        rank, i = wrong[0]
        value = run.vectors[rank][i]
        yield (
            f"Rank {rank} has {shown(value)} at index {i} instead of {shown(sums[i])}: "
            f"{_diagnosis(value, sums[i], i)}."
        )
        every = RANKS * LENGTH
        yield f"{every - len(wrong)} of {every} numbers are complete sums."


def _diagnosis(value: float, total: float, i: int) -> str:
    if math.isnan(value):
        return "it was never received"
    if value == total / RANKS:
        return "that is the mean, and an all-reduce gives the sum"
    counts = terms(value, i)
    if counts is None:
        return "numbers of other places are in it"
    missing = [rank for rank, count in enumerate(counts) if count == 0]
    extra = [rank for rank, count in enumerate(counts) if count > 1]
    parts = [f"{_held_by(missing)} not in it"] if missing else []
    parts += [f"{_held_by(extra)} in it too often, or comes from another place"] if extra else []
    return ", and ".join(parts)


def _held_by(ranks: list[int]) -> str:
    """The subject of a sentence: "what rank 1 holds is", "what ranks 1, 2 hold is"."""
    if len(ranks) == 1:
        return f"what rank {ranks[0]} holds is"
    return f"what ranks {', '.join(map(str, ranks))} hold is"


def terms(value: float, i: int) -> list[int] | None:
    """How often each rank's number is in the `value` at index `i`; None if others are in it."""
    if not math.isfinite(value):
        return None
    quotient, rest = divmod(value, i + 1)
    if rest or not 0 <= quotient < 10**RANKS:
        return None
    return [int(quotient) // 10**rank % 10 for rank in range(RANKS)]


def _wrong_elsewhere(code: CodeType, source: str) -> tuple[str, ...]:
    """The first fault with other numbers of ranks, or lengths that they do not divide."""
    for ranks, length in OTHERS:
        start = [[0.1 * (rank + 1) * (i + 1) for i in range(length)] for rank in range(ranks)]
        other = replay.run(code, start)
        setting = f"With {ranks} rank{'s' * (ranks > 1)} and {length} numbers"
        if fault := _stuck(other, source) or tuple(_never_waited(other)):
            return (f"{setting}:", *fault)
        for rank, vector in enumerate(other.vectors):
            for i, (value, total) in enumerate(zip(vector, _total(start), strict=True)):
                if not abs(value - total) < CLOSE:
                    return (
                        f"{setting}, rank {rank} has {value:g} at index {i} instead of {total:g}.",
                    )
            if vector != other.vectors[0]:
                return (
                    f"{setting}, ranks 0 and {rank} differ in the last bits: they have added in "
                    "different orders. Each sum must be made once, then handed out.",
                )
    return ()


def _not_a_ring(run: Replay) -> Iterator[str]:
    """The first rank that sends to a rank other than its right neighbour, or in wrong sizes."""
    chunk, count = LENGTH // RANKS, 2 * (RANKS - 1)
    for rank, posts in enumerate(run.world.posts):
        sent, right = [post for post in posts if post.sends], (rank + 1) % RANKS
        wrong_peers = [post.peer for post in sent if post.peer != right]
        if wrong_peers:
            yield (
                f"The sums are right, but this is not a ring: rank {rank} sends to rank "
                f"{wrong_peers[0]}, and its right neighbour is {right}."
            )
            return
        if [post.size for post in sent] != count * [chunk]:
            sizes = ", ".join(str(post.size) for post in sent)
            yield (
                f"The sums are right, but rank {rank} sends {len(sent)} messages of {sizes} "
                f"numbers. A ring needs {count} messages of {chunk}."
            )
            return


def _total(start: list[list[float]]) -> list[float]:
    return [math.fsum(column) for column in zip(*start, strict=True)]
