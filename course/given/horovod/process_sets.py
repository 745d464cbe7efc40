"""Some of the ranks as a set, and what happens when ranks run out of data at different times."""

from collections.abc import Iterable, Iterator
from types import ModuleType

from course.given.horovod.collectives import CollectiveRunner
from course.given.horovod.requests import Request


class ProcessSet:
    """Some of the ranks, for operations among themselves. Give it to `init` on every rank."""

    def __init__(self, ranks: Iterable[int]) -> None:
        self.ranks = sorted(ranks)
        self.process_set_id: int | None = None  # `init` gives the number
        self.own_rank: int | None = None  # this process's rank among all

    def included(self) -> bool:
        """Whether this process is in the set."""
        return self.own_rank in self.ranks

    def size(self) -> int | None:
        """The number of ranks in the set; None before `init`."""
        return None if self.process_set_id is None else len(self.ranks)

    def rank(self) -> int | None:
        """The place of this process in the set; None if it is not in it."""
        return self.ranks.index(self.own_rank) if self.included() else None

    def __repr__(self) -> str:
        return f"ProcessSet({self.ranks})"


global_process_set = ProcessSet([])  # all ranks; `init` fills it in


class Team:
    """The ranks of a process set at work: their negotiation, and what runs its answers."""

    def __init__(self, ranks: list[int], negotiation: type, fusion: ModuleType) -> None:
        self.ranks = ranks
        self.negotiation = negotiation(len(ranks))
        self.runner = CollectiveRunner(ranks, fusion)

    def hear(self, rank: int, request: Request, now: float) -> None:
        """Hand a request to the negotiation, which counts the ranks of this set from 0."""
        self.negotiation.hear(self.ranks.index(rank), request, now)

    def explained(self, error: str) -> str:
        """An error of the negotiation, with an explanation of its rank numbers."""
        if self.ranks == list(range(len(self.ranks))):
            return error
        return f"{error} (the ranks are counted within the process set {self.ranks})"

    def missing(self, now: float, patience: float) -> dict[str, list[int]]:
        """The operations that have waited over `patience` seconds, and the late ranks."""
        late = self.negotiation.missing(now, patience)
        return {
            name: [self.ranks[rank] for rank in ranks]
            for name, ranks in late.items()
            if name != JOIN  # a rank without more data is meant to wait there
        }


JOIN = "join"


class Joined:
    """The ranks that have no more data: they take part in every sum of the others, with zeros."""

    def __init__(self) -> None:
        self.ranks: list[int] = []  # in the order in which they joined
        self.open: dict[tuple[str, int], tuple[Request, set[int]]] = {}  # and its requesters

    def hear(self, rank: int, request: Request) -> None:
        """Record the request of a rank."""
        if request.kind == JOIN:
            self.ranks.append(rank)
        else:
            self.open.setdefault(request.key, (request, set()))[1].add(rank)

    def stand_ins(self) -> Iterator[tuple[int, Request]]:
        """Yield the requests made on behalf of joined ranks: all that other ranks request."""
        for request, requesters in self.open.values():
            for rank in self.ranks:
                if rank not in requesters:
                    requesters.add(rank)
                    yield rank, request._replace(fault=self.fault(request))

    def fault(self, request: Request) -> str:
        """Why an operation cannot go on without a joined rank; "" if it can."""
        adds_up = request.kind == "allreduce" and request.op in ("Sum", "Average")
        if adds_up or request.kind == "barrier":
            return ""
        what = f"{request.kind} {request.op}".strip()
        return f"{what} {request.name!r}: rank {self.ranks[0]} has joined, and zeros would be wrong"
