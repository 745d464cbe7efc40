"""All-reduce, algorithm by algorithm: who sends what to whom in each round, and what it costs.

Every rank has one port: in a round it sends at most one message and receives at most one, at the
same time. A round lasts as long as its largest message. Sources: Patarasuk & Yuan, "Bandwidth
optimal all-reduce algorithms for clusters of workstations" (J. Parallel Distrib. Comput. 69, 2009)
for the ring and the lower bound 2(N−1)/N; Thakur, Rabenseifner & Gropp, "Optimization of collective
communication operations in MPICH" (IJHPCA 19, 2005) for halving and doubling.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from course.core import CourseError
from course.explore.models.alpha_beta import AlphaBeta

# held[rank][chunk]: the ranks whose numbers are in that sum
Held = tuple[tuple[frozenset[int], ...], ...]


@dataclass(frozen=True)
class Send:
    """One message: `chunks` go from `source` to `target`.

    The target adds them to its own if the message `adds`; otherwise it replaces its own with them.
    With `first`, the source sends its original numbers, not the sums that it has made since.
    """

    source: int
    target: int
    chunks: tuple[int, ...]
    adds: bool
    first: bool = False


@dataclass(frozen=True)
class Round:
    """Messages that travel at the same time, in a phase of the algorithm."""

    phase: str
    sends: tuple[Send, ...]

    @property
    def largest(self) -> int:
        """The number of chunks in the largest message."""
        return max(len(send.chunks) for send in self.sends)


@dataclass(frozen=True)
class Plan:
    """An algorithm on `ranks` ranks that cuts the buffer into `chunks` equal pieces."""

    name: str
    ranks: int
    chunks: int
    rounds: tuple[Round, ...]

    @property
    def messages(self) -> int:
        """The number of messages in sequence: the factor of α."""
        return len(self.rounds)

    @property
    def buffers(self) -> float:
        """The number of buffers that these messages carry: the factor of β times the size."""
        return sum(round.largest for round in self.rounds) / self.chunks

    @property
    def everyones(self) -> float:
        """The number of buffers that all ranks together send.

        This is what counts if the ranks share one memory instead of having a port each.
        """
        return sum(self.sent(self.messages))

    def seconds(self, network: AlphaBeta, size: float) -> float:
        """The time of an all-reduce of `size` bytes."""
        return network.seconds(self.messages, self.buffers * size)

    def clock(self, network: AlphaBeta, size: float) -> list[float]:
        """The seconds from the beginning to the end of 0, 1, 2 … rounds."""
        seconds = (network.seconds(1, size * round.largest / self.chunks) for round in self.rounds)
        return list(accumulate(seconds, initial=0.0))

    def sent(self, step: int) -> list[float]:
        """What each rank has sent after `step` rounds, in buffers."""
        counts = [0] * self.ranks
        for send in (send for round in self.rounds[:step] for send in round.sends):
            counts[send.source] += len(send.chunks)
        return [count / self.chunks for count in counts]

    def held(self, step: int) -> Held:
        """The ranks whose numbers each chunk of each rank contains after `step` rounds."""
        state = [[frozenset({rank})] * self.chunks for rank in range(self.ranks)]
        for round in self.rounds[:step]:
            before = [list(row) for row in state]
            for send in round.sends:
                mine = state[send.target]
                for chunk in send.chunks:
                    new = frozenset({send.source}) if send.first else before[send.source][chunk]
                    if send.adds:
                        assert not new & mine[chunk], "a number would be added twice"
                        new = new | mine[chunk]
                    mine[chunk] = new
        return tuple(tuple(row) for row in state)


def _star(ranks: int) -> Plan:
    """All ranks send to rank 0 one after another, because it has only one port."""
    others = range(1, ranks)
    up = [Round("reduce", (Send(rank, 0, (0,), adds=True),)) for rank in others]
    down = [Round("broadcast", (Send(0, rank, (0,), adds=False),)) for rank in others]
    return Plan("reduce + broadcast", ranks, 1, (*up, *down))


def _all_to_all(ranks: int) -> Plan:
    """In round k, every rank sends its own buffer to the rank k places further on."""

    def exchange(k: int) -> Round:
        sends = (
            Send(rank, (rank + k) % ranks, (0,), adds=True, first=True) for rank in range(ranks)
        )
        return Round("exchange", tuple(sends))

    return Plan("all-to-all", ranks, 1, tuple(exchange(k) for k in range(1, ranks)))


def _ring(ranks: int) -> Plan:
    """Sums of chunks travel round the ring until complete; then the complete sums travel round."""

    def step(phase: str, shift: int, adds: bool) -> Round:
        sends = (
            Send(rank, (rank + 1) % ranks, ((rank + shift) % ranks,), adds) for rank in range(ranks)
        )
        return Round(phase, tuple(sends))

    scatter = [step("reduce-scatter", -k, adds=True) for k in range(ranks - 1)]
    gather = [step("all-gather", 1 - k, adds=False) for k in range(ranks - 1)]
    return Plan("ring", ranks, ranks, (*scatter, *gather))


def _halving_doubling(ranks: int) -> Plan:
    """Ever nearer partners exchange ever smaller halves; then the same happens in reverse.

    This needs a power of two of ranks. Any further rank first has another rank add its buffer, and
    receives the result from that rank at the end.
    """
    core = 1 << (ranks.bit_length() - 1)  # the largest power of two
    halving = _halving(core)
    rounds = [*halving, *_back(halving, "doubling")]
    if ranks > core:
        whole = tuple(range(core))
        sends = tuple(Send(rank, rank - core, whole, adds=True) for rank in range(core, ranks))
        fold_in = Round("fold in", sends)
        rounds = [fold_in, *rounds, *_back([fold_in], "fold out")]
    return Plan("halving-doubling", ranks, core, tuple(rounds))


def _halving(ranks: int) -> list[Round]:
    """A reduce-scatter: in each round a rank keeps half of its chunks and sends the other half."""
    spans = [(0, ranks)] * ranks  # the chunks that each rank still adds up
    rounds: list[Round] = []
    reach = ranks // 2  # the distance to the partner
    while reach:
        sends = []
        for rank, (low, high) in enumerate(spans):
            middle = (low + high) // 2
            keep, give = (low, middle), (middle, high)
            if rank & reach:
                keep, give = give, keep
            sends.append(Send(rank, rank ^ reach, tuple(range(*give)), adds=True))
            spans[rank] = keep
        rounds.append(Round("halving", tuple(sends)))
        reach //= 2
    return rounds


def _back(rounds: list[Round], phase: str) -> list[Round]:
    """The same messages in the other direction, last round first; they carry complete sums."""
    return [
        Round(phase, tuple(Send(s.target, s.source, s.chunks, adds=False) for s in round.sends))
        for round in reversed(rounds)
    ]


def _tree(ranks: int) -> Plan:
    """Sums climb a binomial tree to rank 0 (pairs are 1, 2, 4 … apart); the result comes down."""
    up, reach = [], 1
    while reach < ranks:
        sends = (
            Send(rank, rank - reach, (0,), adds=True) for rank in range(reach, ranks, 2 * reach)
        )
        up.append(Round("reduce", tuple(sends)))
        reach *= 2
    return Plan("tree", ranks, 1, (*up, *_back(up, "broadcast")))


ALGORITHMS: dict[str, Callable[[int], Plan]] = {
    "reduce + broadcast": _star,
    "all-to-all": _all_to_all,
    "ring": _ring,
    "halving-doubling": _halving_doubling,
    "tree": _tree,
}


@cache
def plan(name: str, ranks: int) -> Plan:
    """The rounds of the algorithm `name` on `ranks` ranks.

    Raises `CourseError` for a name that is not in `ALGORITHMS`, or fewer than one rank.
    """
    if name not in ALGORITHMS:
        raise CourseError(
            f"There is no all-reduce called {name!r}; there are {', '.join(ALGORITHMS)}."
        )
    if ranks < 1:
        raise CourseError(f"An all-reduce needs at least one rank, not {ranks}.")
    return ALGORITHMS[name](int(ranks))  # accepts numpy's integers too
