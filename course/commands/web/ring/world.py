"""The messages of a world of ranks: its posts, their matches, and the rounds of the matches.

As with Gloo and NCCL, a send completes when its receive is posted. A rank has one port: in a round
it sends at most one message and receives at most one. Messages between two ranks keep their order.
"""

from dataclasses import dataclass

SENDS, RECEIVES = ("send", "isend"), ("recv", "irecv")


@dataclass(eq=False)
class Post:
    """One call of a rank, at a `line` of its source: `call` is its name in torch.distributed.

    `values` are the numbers that it sends, `size` is the number of elements. `place` is their range
    in the rank's vector (start and end), or None if they are elsewhere. `clock` counts the rounds
    that the rank had seen.
    """

    rank: int
    call: str
    peer: int
    values: tuple[float, ...]
    size: int
    place: tuple[int, int] | None
    line: int
    clock: int
    round: int = 0  # the round in which it met its other end; 0 before that
    received: tuple[float, ...] = ()
    waited: bool = False

    @property
    def sends(self) -> bool:
        """Whether this is the sending end of a message."""
        return self.call in SENDS

    @property
    def words(self) -> str:
        """The call and the other rank, as in "recv from rank 2"."""
        return f"{self.call} {'to' if self.sends else 'from'} rank {self.peer}"


class World:
    """All posts of `size` ranks."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.posts: list[list[Post]] = [[] for _ in range(size)]

    def add(self, post: Post) -> None:
        """Add a post, and match it with its other end if that is there."""
        self.posts[post.rank].append(post)
        ends = [
            end
            for end in self.posts[post.peer]
            if end.sends != post.sends and end.peer == post.rank and not end.round
        ]
        if ends:
            send, receive = (post, ends[0]) if post.sends else (ends[0], post)
            busy = [
                other.round
                for end in (send, receive)
                for other in self.posts[end.rank]
                if other.sends == end.sends
            ]
            send.round = receive.round = max(send.clock, receive.clock, *busy) + 1
            receive.received = send.values

    @property
    def rounds(self) -> int:
        """The number of rounds so far."""
        return max((post.round for posts in self.posts for post in posts), default=0)

    def sent(self, round: int) -> list[Post]:
        """The sends of one round."""
        return [
            post for posts in self.posts for post in posts if post.sends and post.round == round
        ]
