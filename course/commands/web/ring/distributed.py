"""`torch.distributed` for one rank: its names, and what they do in a world without processes."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from course.commands.web.ring.messages import RECEIVES, SENDS, Post, World
from course.commands.web.ring.tensors import Tensor

FILE = "<your code>"
MOST_CALLS = 500  # of one rank; a ring of five ranks needs 16
NAMES = [
    "get_rank",
    "get_world_size",
    "send",
    "recv",
    "isend",
    "irecv",
    "P2POp",
    "batch_isend_irecv",
    "all_reduce",
    "barrier",
]


class Suspend(BaseException):
    """A rank cannot go on before others do: it will be run again from its start."""


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
    """A call under way; what is received lies in the tensor only after `wait`."""

    _of: "Distributed"
    _post: Post
    _tensor: Tensor | None

    def wait(self) -> bool:
        """Return when it is done."""
        self._of._finish(self._post, self._tensor)
        return True


class Distributed:
    """What the learner's `import torch.distributed` gives to one rank, in one of its runs."""

    def __init__(self, world: World, rank: int, flat: Tensor) -> None:
        self._ranks, self._rank, self._flat = world, rank, flat
        self._calls = self._clock = 0
        self._waits: Wait | None = None
        self._seen: dict[int, list[float]] = {}  # by the clock: the rank's vector
        self._look()
        self.P2POp = P2POp

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"dist.{name} is not on this page, which has only {', '.join(NAMES)}.")

    def get_rank(self) -> int:
        """The number of this rank."""
        return self._rank

    def get_world_size(self) -> int:
        """How many ranks there are."""
        return self._ranks.size

    def send(self, tensor: Tensor, dst: int) -> None:
        """Send a tensor; return when it was received."""
        self._finish(self._posted("send", tensor, dst), tensor)

    def recv(self, tensor: Tensor, src: int) -> int:
        """Receive into a tensor; return when it is there."""
        self._finish(self._posted("recv", tensor, src), tensor)
        return src

    def isend(self, tensor: Tensor, dst: int) -> Work:
        """Begin to send a tensor."""
        return Work(self, self._posted("isend", tensor, dst), tensor)

    def irecv(self, tensor: Tensor, src: int) -> Work:
        """Begin to receive into a tensor."""
        return Work(self, self._posted("irecv", tensor, src), tensor)

    def batch_isend_irecv(self, p2p_op_list: list[P2POp]) -> list[Work]:
        """Begin several messages at once."""
        return [each.op(each.tensor, each.peer) for each in p2p_op_list]

    def all_reduce(self, tensor: Tensor) -> None:
        """The sum over all ranks, on every rank."""
        self._finish(self._posted("all_reduce", tensor, None), tensor)

    def barrier(self) -> None:
        """Return when all ranks have come here."""
        self._finish(self._posted("barrier", Tensor([]), None), None)

    def _posted(self, call: str, tensor: Tensor, peer: int | None) -> Post:
        """The post of a call: a new one, or on a later run of the rank, the one that it was."""
        if self._waits:  # something caught `Suspend`, or `finally` calls while the rank is unwound
            raise Suspend
        if not isinstance(tensor, Tensor):
            raise TypeError(f"dist.{call} takes a tensor, not {type(tensor).__name__}")
        if peer is not None and (peer == self._rank or peer not in range(self._ranks.size)):
            raise ValueError(
                f"dist.{call}: the other rank is {peer}, but must be one of 0 to "
                f"{self._ranks.size - 1} and not rank {self._rank} itself"
            )
        self._look()
        gives = call not in RECEIVES
        post = Post(
            rank=self._rank,
            call=call,
            peer=peer,
            values=tuple(tensor._values()) if gives else (),
            size=tensor.length,
            place=self._place(tensor),
            line=line(),
            clock=self._clock,
        )
        known = self._ranks.posts[self._rank]
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise RuntimeError(f"more than {MOST_CALLS} calls: does the loop end?")
        if self._calls > len(known):
            self._ranks.add(post)
        elif not known[self._calls - 1].repeats(post):
            raise RuntimeError(
                "the rank was run again and did something else. On this page a rank that waits "
                "is run again from its start, so it must not depend on time or chance"
            )
        return known[self._calls - 1]

    def _finish(self, post: Post, tensor: Tensor | None) -> None:
        """Wait for a post, and take what it brings."""
        self._look()
        if not post.round or self._waits:
            self._waits = self._waits or Wait(post, line())
            raise Suspend
        self._clock = max(self._clock, post.round)
        post.waited = True
        if post.call in SENDS:
            if repr(tuple(tensor._values())) != repr(post.values):
                raise RuntimeError(
                    f"the tensor of the {post.call} in line {post.line} was changed before "
                    "wait() said that it was sent"
                )
        elif tensor is not None:
            if len(post.received) != tensor.length:
                raise RuntimeError(
                    f"{len(post.received)} numbers come from rank {post.peer}, but the tensor "
                    f"to receive them has room for {tensor.length}"
                )
            tensor._write(post.received)

    def _place(self, tensor: Tensor) -> tuple[int, int] | None:
        """Where a tensor lies in the rank's vector, if it is a part of it."""
        if tensor.storage is not self._flat.storage:
            return None
        return tensor.start, tensor.start + tensor.length

    def _look(self) -> None:
        """Remember the rank's vector as it is now."""
        self._seen[self._clock] = self._flat._values()


def line() -> int:
    """The line of the learner's code that is being run; 0 if none is."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_filename != FILE:
        frame = frame.f_back
    return frame.f_lineno if frame else 0
