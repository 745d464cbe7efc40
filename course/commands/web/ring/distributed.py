"""`torch.distributed` for one rank, in a world without processes."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from course.commands.web.ring.tensors import Tensor
from course.commands.web.ring.world import Post, World

FILE = "<your code>"
NAMES = (
    "get_rank, get_world_size, send, recv, isend, irecv, P2POp and batch_isend_irecv: "
    "an all-reduce is made of these"
)


class Suspend(BaseException):
    """Raised when a rank must wait for others; it will run again from its start."""


@dataclass(frozen=True)
class Wait:
    """Where a rank waits: for a `post`, at a `line`."""

    post: Post
    line: int


@dataclass(frozen=True)
class P2POp:
    """A message that is to be sent or received: `op` is isend or irecv."""

    op: Callable
    tensor: Tensor
    peer: int


@dataclass(frozen=True)
class Work:
    """A call under way; a received message is in the tensor only after `wait`."""

    _owner: "Distributed"
    _post: Post
    _tensor: Tensor

    def wait(self) -> None:
        """Return when it is done."""
        self._owner._finish(self._post, self._tensor)


class Distributed:
    """The module that `import torch.distributed` gives to one rank, for one of its runs."""

    P2POp = P2POp

    def __init__(self, world: World, rank: int, flat: Tensor) -> None:
        self.world, self._rank, self._flat = world, rank, flat
        self._calls = self._clock = 0
        self._waits: Wait | None = None
        self._vectors: dict[int, list[float]] = {}  # the rank's vector by clock
        self._record()

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"dist.{name} is not on this page, which has {NAMES}.")

    def get_rank(self) -> int:
        """The number of this rank."""
        return self._rank

    def get_world_size(self) -> int:
        """The number of ranks."""
        return self.world.size

    def send(self, tensor: Tensor, dst: int) -> None:
        """Send a tensor; return when it has been received."""
        self._finish(self._posted("send", tensor, dst), tensor)

    def recv(self, tensor: Tensor, src: int) -> None:
        """Receive into a tensor; return when it is there."""
        self._finish(self._posted("recv", tensor, src), tensor)

    def isend(self, tensor: Tensor, dst: int) -> Work:
        """Begin to send a tensor."""
        return Work(self, self._posted("isend", tensor, dst), tensor)

    def irecv(self, tensor: Tensor, src: int) -> Work:
        """Begin to receive into a tensor."""
        return Work(self, self._posted("irecv", tensor, src), tensor)

    def batch_isend_irecv(self, p2p_op_list: list[P2POp]) -> list[Work]:
        """Begin several messages at once."""
        return [operation.op(operation.tensor, operation.peer) for operation in p2p_op_list]

    def _posted(self, call: str, tensor: Tensor, peer: int) -> Post:
        """The post of a call: a new one, or the existing one if the rank runs again."""
        if self._waits:  # called in an `except` or `finally` as the rank unwinds
            raise Suspend
        if not isinstance(tensor, Tensor):
            raise TypeError(f"dist.{call} takes a tensor, not {type(tensor).__name__}")
        if peer == self._rank or peer not in range(self.world.size):
            raise ValueError(
                f"dist.{call}: the other rank is {peer}, but must be one of 0 to "
                f"{self.world.size - 1} and not rank {self._rank} itself"
            )
        self._record()
        self._calls += 1
        known = self.world.posts[self._rank]
        if self._calls > len(known):
            sends = call in ("send", "isend")
            end = tensor.start + tensor.length
            self.world.add(
                Post(
                    rank=self._rank,
                    call=call,
                    peer=peer,
                    values=tuple(tensor) if sends else (),
                    size=len(tensor),
                    place=(tensor.start, end) if tensor.storage is self._flat.storage else None,
                    line=_line(),
                    clock=self._clock,
                )
            )
        return known[self._calls - 1]

    def _finish(self, post: Post, tensor: Tensor) -> None:
        """Wait for a post, and put what it received into the tensor."""
        self._record()
        if not post.round or self._waits:
            self._waits = self._waits or Wait(post, _line())
            raise Suspend
        self._clock = max(self._clock, post.round)
        post.waited = True
        if post.sends:
            return
        if len(post.received) != len(tensor):
            raise RuntimeError(
                f"{len(post.received)} numbers come from rank {post.peer}, but the tensor to "
                f"receive them has room for {len(tensor)}"
            )
        tensor.copy_(Tensor(list(post.received)))

    def _record(self) -> None:
        """Remember the rank's vector as it is now."""
        self._vectors[self._clock] = self._flat.tolist()


def _line() -> int:
    """The line of the learner's code that is running; 0 if none is."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_filename != FILE:
        frame = frame.f_back
    return frame.f_lineno if frame else 0
