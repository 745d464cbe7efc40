"""The requests of a rank and the answers to all ranks: the vocabulary of the negotiation."""

from typing import NamedTuple


class Request(NamedTuple):
    """What one rank says about an operation for which it has everything ready."""

    name: str
    kind: str  # allreduce, allgather, broadcast, barrier or join
    shapes: tuple[tuple[int, ...], ...] = ()  # of one tensor, or of each tensor of a group
    bytes: int = 0  # of all these tensors together
    dtype: str = ""  # such as float32
    device: str = ""  # cpu or cuda
    op: str = ""  # of an allreduce: Average, Sum or Max
    root: int | None = None  # of a broadcast
    factors: tuple[float, float] = (1.0, 1.0)  # applied before and after a reduction
    use: int = 1  # 1 when this rank uses the name for the first time, then 2, and so on
    fault: str = ""  # why this rank has refused the operation already
    process_set: int = 0  # which ranks take part; 0 stands for all

    @property
    def key(self) -> tuple[str, int]:
        """What is matched between the ranks: the name, and which use of it."""
        return self.name, self.use


class Answer(NamedTuple):
    """What every rank does next: run the operation that all asked for, or raise the error."""

    key: tuple[str, int]
    requests: tuple[Request, ...]  # by rank; with an error, only of the ranks that have asked
    error: str = ""
