"""The messages of a world of ranks: what was posted, what met, and in which round.

As with Gloo and NCCL, a send is over when its receive is there. A rank has one port: in a round it
sends at most one message and receives at most one. Messages of one pair of ranks keep their order.
"""

from dataclasses import dataclass

SENDS, RECEIVES = ("send", "isend"), ("recv", "irecv")


@dataclass(eq=False)
class Post:
    """One call of a rank, at a `line` of its source: `call` is its name in torch.distributed.

    `values` is what it sends, `size` how many numbers, `place` where they lie in the rank's
    vector (start and end), if they do. `clock` is how many rounds the rank had seen before.
    """

    rank: int
    call: str
    peer: int
    values: tuple[float, ...]
    size: int
    place: tuple[int, int] | None
    line: int
    clock: int
    round: int = 0  # in which it met its other end; 0 as long as it has not
    received: tuple[float, ...] = ()
    waited: bool = False

    @property
    def sends(self) -> bool:
        """Whether this is the end of a message that sends it."""
        return self.call in SENDS

    @property
    def words(self) -> str:
        """The call and whom it concerns, as in "recv from rank 2"."""
        return f"{self.call} {'to' if self.sends else 'from'} rank {self.peer}"


class World:
    """All posts of `size` ranks."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.posts: list[list[Post]] = [[] for _ in range(size)]

    def add(self, post: Post) -> None:
        """Post a call, and let the message begin if its other end is there."""
        self.posts[post.rank].append(post)
        ends = [
            each
            for each in self.posts[post.peer]
            if each.sends != post.sends and each.peer == post.rank and not each.round
        ]
        if ends:
            send, receive = (post, ends[0]) if post.sends else (ends[0], post)
            busy = [
                each.round
                for end in (send, receive)
                for each in self.posts[end.rank]
                if each.sends == end.sends
            ]
            send.round = receive.round = max(send.clock, receive.clock, *busy) + 1
            receive.received = send.values

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return max((post.round for posts in self.posts for post in posts), default=0)

    def sent(self, round: int) -> list[Post]:
        """The sends of one round."""
        return [
            post for posts in self.posts for post in posts if post.sends and post.round == round
        ]
