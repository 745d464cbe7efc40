"""Why a run has failed: which rank was first, and where."""

import re
from collections.abc import Sequence

from course.core import words
from course.launch import brief
from course.own.finding import Finding
from course.own.hang import of_calls, places
from course.own.hang.causes import finding
from course.own.watch.processes import Seen

# What a rank says because another one has gone.
AFTER = re.compile(
    r"Connection (reset|closed|refused)|Broken pipe|Socket closed|Read error|recvValue failed"
    r"|remote process|SignalException|Timed out waiting|wait timeout|Software caused connection"
)


def found(ranks: Sequence[Seen]) -> list[Finding]:
    """Why it failed, of the ranks that said so; nothing where none of them did."""
    aborted = [seen for seen in ranks if places.fatal(seen)]
    raised = [seen for seen in ranks if seen.look.error]
    first = min(raised, key=lambda seen: (_follows(seen), seen.look.at), default=None)
    if first is not None and not _follows(first):
        return [_unused(first, ranks) or _raised(first)]
    if aborted:
        return [_sizes(aborted[0], ranks) or _killed(aborted[0])]
    ended = [seen for seen in ranks if seen.alive is False and not seen.look.ended]
    gone = [seen for seen in ended if not seen.terminated]
    if len(gone) == 1 and (first is not None or len(ended) > 1):
        return [_killed(gone[0])]
    done = [seen for seen in ranks if seen.look.ended and not seen.look.error]
    if first is not None and done:
        return [_left(done[0], first)]
    return [_raised(first)] if first else []


def _follows(seen: Seen) -> bool:
    return bool(seen.look.error and AFTER.search(seen.look.error.error))


def _raised(seen: Seen) -> Finding:
    error = seen.look.error
    says = brief(error.error.splitlines()[0])
    at = f" at {error.error_at}" if error.error_at else ""
    step = of_calls.step(seen.passes) if seen.passes else None
    return finding(
        "error",
        f"Rank {seen.rank} failed first{at}: {says}",
        rank=seen.rank,
        where=error.error_at,
        step=step,
    )


def _unused(seen: Seen, ranks: Sequence[Seen]) -> Finding | None:
    """DDP complains of parameters without a gradient: their names in place of their numbers."""
    if not seen.look.unused:
        return None
    names = ", ".join(f"`{name}`" for name in seen.look.unused[:8])
    passes = max(1, seen.passes)
    others = [other for other in ranks if other is not seen and places.of(other)]
    waits = [
        f"rank {other.rank} {places.of(other)}" for other in others[:2] if places.of(other).call
    ]
    where = f" Meanwhile {', '.join(waits)}." if waits else ""
    return finding(
        "unused parameters",
        f"In backward pass {passes} (step {of_calls.step(passes)} from 0) rank {seen.rank} made no "
        f"gradient for {names}; DDP waits for one from each rank.{where}",
        rank=seen.rank,
        step=of_calls.step(passes),
        where=seen.look.error.error_at,
    )


def _sizes(seen: Seen, ranks: Sequence[Seen]) -> Finding | None:
    """Gloo ends a rank (SIGABRT) that gets a message larger than the one it waits for."""
    if places.fatal(seen) != "Aborted":
        return None
    told = [f"rank {each.rank} was in {_in(each)}" for each in ranks[:4]]
    where = places.of(seen)
    parted = of_calls.parted(ranks)
    return finding(
        "different sizes",
        f"Gloo ended rank {seen.rank} (SIGABRT), since a message was larger than the one that it "
        f"waited for: {'; '.join(told)}.{' ' + parted[0] if parted else ''}",
        rank=seen.rank,
        step=parted[1] if parted else None,
        where=where.at if where else "",
    )


def _in(seen: Seen) -> str:
    """The call that a rank was in, with its size as far as it is known."""
    where = places.of(seen)
    if seen.look.error:
        where = places.place(seen.look.error.frames)
    last = seen.calls[-1] if seen.calls else None
    if seen.passes > (last.passes if last else 0):
        size = words.size(seen.record.gradients) if seen.record.gradients else ""
        sends = f", whose gradients are {size} in all," if size else ""
        at = f" at {where.at}" if where and where.call == "backward" else ""
        return f"backward pass {seen.passes}{sends}{at}"
    if where and last and last.where == where.at:
        size = f" of {words.size(last.nbytes)}, {last.shape}," if last.nbytes else ""
        return f"{last.name}{size} at {last.where}"
    if where and where.call:
        pending = seen.look.pending
        return f"{where.call} at {where.at}{f' ({pending[-1]})' if pending else ''}"
    return f"{last.name} at {last.where}" if last else "no call that is known"


def _left(gone: Seen, seen: Seen) -> Finding:
    """A rank has come to its end, and another one, which waited for it, has noticed."""
    error = seen.look.error
    parted = of_calls.parted([gone, seen])
    where = places.place(error.frames)
    waited = f"waited for it in {where.call}" if where and where.call else "needed it"
    at = f" at {error.error_at}" if error.error_at else ""
    return finding(
        "ended rank",
        f"Rank {gone.rank} came to its end while rank {seen.rank} {waited}{at}: "
        f"{brief(error.error.splitlines()[0])}{' ' + parted[0] if parted else ''}",
        rank=gone.rank,
        step=parted[1] if parted else None,
        where=error.error_at,
    )


def _killed(seen: Seen) -> Finding:
    where, how = places.of(seen), places.fatal(seen)
    at = f" at {where.at}" if where else ""
    says = (
        f"by a fatal error ({how})" if how else "without a message, as after SIGKILL or `os._exit`"
    )
    return finding(
        "killed",
        f"Rank {seen.rank} ended {says}{at}; other ranks failed after it.",
        rank=seen.rank,
        where=where.at if where else "",
    )
