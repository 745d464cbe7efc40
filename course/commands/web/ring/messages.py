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
    peer: int | None  # None: all ranks
    values: tuple[float, ...]
    size: int
    place: tuple[int, int] | None
    line: int
    clock: int
    round: int = 0  # in which it met the others; 0 as long as it has not
    received: tuple[float, ...] = ()
    waited: bool = False

    def repeats(self, other: "Post") -> bool:
        """Whether a rank that is run again has made the same call."""
        same = ("call", "peer", "size", "line")
        return all(getattr(self, name) == getattr(other, name) for name in same) and repr(
            self.values
        ) == repr(other.values)  # NaN equals itself only as text

    @property
    def words(self) -> str:
        """The call and whom it concerns, as in "recv from rank 2"."""
        if self.peer is None:
            return self.call
        return f"{self.call} {'to' if self.call in SENDS else 'from'} rank {self.peer}"


class World:
    """All posts of `size` ranks."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.posts: list[list[Post]] = [[] for _ in range(size)]

    def add(self, post: Post) -> None:
        """Post a call; it may be what others wait for."""
        self.posts[post.rank].append(post)
        if post.peer is None:
            self._meet_all()
        else:
            self._meet(post)

    def _meet(self, post: Post) -> None:
        """Let a message begin if both its ends are there."""
        wanted = RECEIVES if post.call in SENDS else SENDS
        other = next(
            (
                each
                for each in self.posts[post.peer]
                if each.call in wanted and each.peer == post.rank and not each.round
            ),
            None,
        )
        if other is None:
            return
        send, receive = (post, other) if post.call in SENDS else (other, post)
        busy = [
            each.round
            for end, calls in ((send, SENDS), (receive, RECEIVES))
            for each in self.posts[end.rank]
            if each.call in calls
        ]
        send.round = receive.round = max(send.clock, receive.clock, *busy) + 1
        receive.received = send.values

    def _meet_all(self) -> None:
        """Let a collective happen if every rank has come to the same one."""
        every = [[post for post in posts if post.peer is None] for posts in self.posts]
        for posts in zip(*every, strict=False):
            if posts[0].round or len({(post.call, post.size) for post in posts}) > 1:
                continue
            total = tuple(map(sum, zip(*(post.values for post in posts), strict=True)))
            for post in posts:
                post.round = max(each.clock for each in posts) + 1
                post.received = total

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return max((post.round for posts in self.posts for post in posts), default=0)

    def sent(self, round: int | None = None) -> list[Post]:
        """The sends that met their receives: all of them, or those of one round."""
        return [
            post
            for posts in self.posts
            for post in posts
            if post.call in SENDS and post.round and round in (None, post.round)
        ]
