"""Whether a run goes on, stands still, or only looks as if it did."""

from collections.abc import Sequence

from course.core import words
from course.launch import brief
from course.own.hang import places
from course.own.hang.of_calls import step
from course.own.hang.thresholds import LOOKS
from course.own.watch.processes import Seen


def stood(ranks: Sequence[Seen]) -> float:
    """Seconds for which no rank that lives has moved; 0 while one has hardly been seen."""
    living = [seen for seen in ranks if seen.alive is not False]
    if not living or any(seen.look.looks < LOOKS for seen in living):
        return 0.0
    return min(map(rank_stood, living))


def rank_stood(seen: Seen) -> float:
    """Seconds for which one rank has stood still.

    A rank that waits for others does not move, whatever it spends on waiting; elsewhere one that
    computes, reads or writes is at work, though it may not leave its line.
    """
    look, where = seen.look, places.of(seen)
    if where and where.call and (where.call != "backward" or look.cuda):
        return look.stood
    return min(look.stood, look.idle)


def lines(ranks: Sequence[Seen]) -> list[str]:
    """A line for each rank: where it stands."""
    return [f"  rank {seen.rank} {_state(seen)}" for seen in ranks]


def _state(seen: Seen) -> str:
    where = places.of(seen)
    if seen.alive is False:
        how = places.fatal(seen)
        error = seen.look.error
        if error:
            at = f" at {error.error_at}" if error.error_at else ""
            if error.error.startswith("KeyboardInterrupt"):
                return f"was interrupted{at}"
            return f"failed{at}: {brief(error.error.splitlines()[0])}"
        return f"was ended by a fatal error ({how}){_at(where)}" if how else "has ended"
    if where is None:
        return "is outside of the script"
    others = "".join(
        f"\n         its thread {other.thread} {other}" for other in places.others(seen)
    )
    return f"{where}{others}"


def _at(where: places.Place | None) -> str:
    return f" at {where.at}   {where.source}" if where else ""


def working(ranks: Sequence[Seen]) -> list[str]:
    """A line for each rank of a run that goes on: how far it is, and when it moved last."""
    told = []
    for seen in ranks:
        passes = f"step {step(seen.passes)}, " if seen.passes else ""
        moved = rank_stood(seen)
        ago = "now" if moved < 1 else f"{words.duration(moved)} ago"
        where = places.of(seen)
        at = f" {where}" if where else " is outside of the script"
        if seen.alive is False:
            told.append(f"  rank {seen.rank} {_state(seen)}")
        else:
            told.append(f"  rank {seen.rank}{at} ({passes}moved {ago})")
    return told
