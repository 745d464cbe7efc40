"""Tells why ranks wait forever: which waits where, for whom, and whether in a circle."""

from course.commands.web.ring.messages import RECEIVES, SENDS
from course.commands.web.ring.replay import Run


def told(run: Run, source: str) -> list[str]:
    """A line for each rank, then what keeps them; the ranks of `run` must wait."""
    lines = source.splitlines()
    said = []
    for rank in range(run.world.size):
        if rank in run.waits:
            at = run.waits[rank]
            code = lines[at.line - 1].strip() if 0 < at.line <= len(lines) else ""
            said.append(f"Rank {rank} waits in {at.post.words}, line {at.line}: {code}")
        else:
            said.append(f"Rank {rank} {_end(run, rank)}.")
    return [*said, _cause(run)]


def waits_for(run: Run, rank: int) -> list[int]:
    """The ranks that a waiting rank needs."""
    post = run.waits[rank].post
    if post.peer is not None:
        return [post.peer]
    nth = sum(each.peer is None for each in run.world.posts[rank])
    counts = [sum(each.peer is None for each in posts) for posts in run.world.posts]
    late = [other for other, count in enumerate(counts) if count < nth]
    return late or [other for other in range(run.world.size) if other != rank]


def circle(run: Run) -> list[int]:
    """Ranks of which each waits for the next, and the last for the first; [] without any."""
    for rank in run.waits:
        path = [rank]
        while (after := waits_for(run, path[-1])[0]) in run.waits and after not in path:
            path.append(after)
        if after in path:
            return path[path.index(after) :]
    return []


def _cause(run: Run) -> str:
    ranks = circle(run)
    if not ranks:
        rank, other = next(
            (rank, other)
            for rank in run.waits
            for other in waits_for(run, rank)
            if other not in run.waits
        )
        return f"Rank {rank} waits for rank {other}, which {_end(run, other)}."
    calls = {run.waits[rank].post.call for rank in ranks}
    way = " → ".join(map(str, [*ranks, ranks[0]]))
    if calls <= set(SENDS):
        why = "A send is over when the other rank receives, but here each of them sends first."
    elif calls <= set(RECEIVES):
        why = "Each of them wants to receive before it sends, so nothing is ever sent."
    else:
        why = "What one of them waits for, the next would do only later."
    return f"They wait in a circle, {way}. {why}"


def _end(run: Run, rank: int) -> str:
    return "has stopped with an error" if rank in run.failures else "has come to its end"
