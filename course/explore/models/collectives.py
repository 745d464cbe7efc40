"""The collectives as flows of numbers: what each rank holds before and after, and who sends."""

from collections.abc import Callable
from dataclasses import dataclass

from course.core import CourseError

OPS: dict[str, Callable[[list[int]], int]] = {"sum": sum, "max": max}
NOUNS = {"sum": "sum", "max": "maximum"}
Place = tuple[int, int]  # a rank, and the index of one of its numbers
# For each place after the call, the places before it whose numbers are in it.
Flows = dict[Place, list[Place]]


@dataclass(frozen=True)
class CollectiveKind:
    """One collective: its `call` in torch, its `point` in a sentence, and its `flows`."""

    call: str
    point: str
    flows: Callable[[int, int], Flows]  # takes the world size and the root


COLLECTIVES = {
    "broadcast": CollectiveKind(
        "dist.broadcast(x, src={root})",
        "everyone gets rank {root}'s number",
        lambda n, root: {(rank, 0): [(root, 0)] for rank in range(n)},
    ),
    "scatter": CollectiveKind(
        "dist.scatter(x, parts, src={root})",
        "rank {root} deals its numbers out, one to each rank",
        lambda n, root: {(rank, 0): [(root, rank)] for rank in range(n)},
    ),
    "gather": CollectiveKind(
        "dist.gather(x, everyones, dst={root})",
        "rank {root} collects one number from each rank",
        lambda n, root: {(root, rank): [(rank, 0)] for rank in range(n)},
    ),
    "reduce": CollectiveKind(
        "dist.reduce(x, dst={root}, op=ReduceOp.{OP})",
        "rank {root} gets the {noun}",
        lambda n, root: {(root, 0): [(rank, 0) for rank in range(n)]},
    ),
    "all-reduce": CollectiveKind(
        "dist.all_reduce(x, op=ReduceOp.{OP})",
        "everyone gets the {noun}",
        lambda n, root: {(to, 0): [(rank, 0) for rank in range(n)] for to in range(n)},
    ),
    "all-gather": CollectiveKind(
        "dist.all_gather(everyones, x)",
        "everyone collects one number from each rank",
        lambda n, root: {(to, rank): [(rank, 0)] for to in range(n) for rank in range(n)},
    ),
    "reduce-scatter": CollectiveKind(
        "dist.reduce_scatter(x, parts, op=ReduceOp.{OP})",
        "rank r gets the {noun} of everyone's r-th number",
        lambda n, root: {(to, 0): [(rank, to) for rank in range(n)] for to in range(n)},
    ),
    "all-to-all": CollectiveKind(
        "dist.all_to_all(received, parts)",
        "rank r gets everyone's r-th number",
        lambda n, root: {(to, rank): [(rank, to)] for to in range(n) for rank in range(n)},
    ),
    "barrier": CollectiveKind(
        "dist.barrier()", "nobody leaves before the last has come", lambda n, root: {}
    ),
}


@dataclass(frozen=True)
class Number:
    """One number that a rank holds, and the ranks whose numbers are in it."""

    number: int
    sources: tuple[int, ...]


Held = list[list[Number]]  # by rank


@dataclass(frozen=True)
class Example:
    """One call of a collective; rank r begins with ``numbers[r]``, as many as there are ranks."""

    name: str
    numbers: tuple[tuple[int, ...], ...]
    root: int = 0
    op: str = "sum"

    def __post_init__(self) -> None:
        ranks = len(self.numbers)
        if self.name not in COLLECTIVES:
            raise CourseError(
                f"There is no collective {self.name!r}; there are {', '.join(COLLECTIVES)}."
            )
        if not ranks or any(len(row) != ranks for row in self.numbers):
            raise CourseError(
                f"Each of {ranks} ranks begins with as many numbers as there are ranks."
            )
        if self.op not in OPS or not 0 <= self.root < ranks:
            raise CourseError(
                f"The reduction is one of {', '.join(OPS)}, the root a rank from 0 to {ranks - 1}."
            )

    @property
    def ranks(self) -> int:
        """The world size."""
        return len(self.numbers)

    @property
    def kind(self) -> CollectiveKind:
        """The collective that is called."""
        return COLLECTIVES[self.name]

    @property
    def flows(self) -> Flows:
        """For each place after the call, the places before it whose numbers are in it."""
        return self.kind.flows(self.ranks, self.root)

    def words(self, text: str) -> str:
        """`text` with this example's root and reduction filled in."""
        return text.format(root=self.root, OP=self.op.upper(), noun=NOUNS[self.op])

    def before(self) -> Held:
        """The numbers of each rank that take part in the call."""
        used = {place for sources in self.flows.values() for place in sources}
        if self.name == "broadcast":
            used = {(rank, 0) for rank in range(self.ranks)}  # theirs are overwritten
        return [
            [Number(row[place], (rank,)) for place in range(self.ranks) if (rank, place) in used]
            for rank, row in enumerate(self.numbers)
        ]

    def after(self) -> Held:
        """What each rank holds after the call; nothing if the result is undefined."""
        held: Held = [[] for _ in range(self.ranks)]
        for (rank, _), sources in sorted(self.flows.items()):
            number = OPS[self.op]([self.numbers[source][place] for source, place in sources])
            held[rank].append(Number(number, tuple(source for source, _ in sources)))
        return held

    def pairs(self) -> list[tuple[int, int]]:
        """(source, target) for every two ranks between which a number travels.

        The result requires these; a network may route the numbers differently.
        """
        flows = self.flows.items()
        return sorted(
            {(source, to) for (to, _), sources in flows for source, _ in sources if source != to}
        )


def counted(ranks: int) -> tuple[tuple[int, ...], ...]:
    """Numbers that show their origin: the tens digit is the rank, the unit is the place."""
    return tuple(tuple(10 * rank + place for place in range(ranks)) for rank in range(ranks))
