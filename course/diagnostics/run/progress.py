"""Decide whether a run goes on, hangs, or only seems to."""

from collections.abc import Sequence

from course.core import call_site, deadlocks, words
from course.diagnostics.run import call_sites
from course.diagnostics.run.divergence import step
from course.diagnostics.run.thresholds import MIN_SNAPSHOTS
from course.diagnostics.watch.rank_states import RankState
from course.launch import brief


def stalled_s(ranks: Sequence[RankState]) -> float:
    """Seconds for which no living rank has moved; 0 until each has a few snapshots."""
    living = [state for state in ranks if state.alive is not False]
    if not living or any(state.snapshot.count < MIN_SNAPSHOTS for state in living):
        return 0.0
    return min(map(rank_stalled_s, living))


def rank_stalled_s(state: RankState) -> float:
    """Seconds for which one rank has neither moved nor worked.

    A rank that waits for others does not work, even if waiting keeps a core busy. Any other rank
    that computes, reads or writes is at work, even if it stays at one line.
    """
    snapshot, site = state.snapshot, call_sites.of_rank(state)
    if site and site.call and (site.call != "backward" or snapshot.cuda):
        return snapshot.unmoved
    return min(snapshot.unmoved, snapshot.idle)


def lines(ranks: Sequence[RankState]) -> list[str]:
    """A line for each rank, with the place where it stands."""
    return [f"  rank {state.rank} {_state(state)}" for state in ranks]


def waits_in(ranks: Sequence[RankState]) -> dict[int, str]:
    """The call in which each rank waits, by rank; ranks that wait in none are left out."""
    living = [state for state in ranks if state.alive is not False]
    sites = {state.rank: call_sites.of_rank(state) for state in living}
    return {rank: site.call for rank, site in deadlocks.waiting(sites).items()}


def _state(state: RankState) -> str:
    site = call_sites.of_rank(state)
    if state.alive is False:
        how = call_sites.fatal_signal(state)
        error = state.snapshot.error
        if error:
            at = f" at {error.error_at}" if error.error_at else ""
            if error.error.startswith("KeyboardInterrupt"):
                return f"was interrupted{at}"
            return f"failed{at}: {brief(error.error.splitlines()[0])}"
        return f"was ended by a fatal error ({how}){_at(site)}" if how else "has ended"
    if site is None:
        return call_site.OUTSIDE
    others = call_sites.of_other_threads(state)
    return "".join(
        [str(site), *(f"\n         its thread {stack.thread} {stack}" for stack in others)]
    )


def _at(site: call_site.CallSite | None) -> str:
    return f" at {site.at}   {site.source}" if site else ""


def working(ranks: Sequence[RankState]) -> list[str]:
    """A line for each rank of a run that goes on, with its step and when it last moved."""
    by_rank = []
    for state in ranks:
        passes = f"step {step(state.passes)}, " if state.passes else ""
        stalled = rank_stalled_s(state)
        ago = "now" if stalled < 1 else f"{words.duration(stalled)} ago"
        site = call_sites.of_rank(state)
        if state.alive is False:
            by_rank.append(f"  rank {state.rank} {_state(state)}")
        else:
            by_rank.append(f"  rank {state.rank} {site or call_site.OUTSIDE} ({passes}moved {ago})")
    return by_rank
