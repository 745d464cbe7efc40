"""Find why a run has failed: the rank that failed first, and its line."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from course.core import words
from course.diagnostics.finding import Finding
from course.diagnostics.run import call_sites, causes, divergence
from course.diagnostics.watch.exits import BY_NUMBER
from course.diagnostics.watch.rank_states import RankState
from course.diagnostics.watch.snapshots import ThreadStack
from course.launch import brief

# Errors of a rank that lost the connection to another rank, or was told to end.
CONSEQUENCES = re.compile(
    r"Connection (reset|closed|refused)|Broken pipe|Socket closed|Read error|recvValue failed"
    r"|remote process|SignalException|Timed out waiting|wait timeout|Software caused connection"
)


class _Failure(NamedTuple):
    """A rank, and the exception that ended its script."""

    state: RankState
    error: ThreadStack


def findings(ranks: Sequence[RankState]) -> list[Finding]:
    """Why the run failed, as far as its ranks show; empty if they show nothing."""
    aborted = [state for state in ranks if call_sites.fatal_signal(state)]
    exceptions = [_Failure(state, error) for state in ranks if (error := state.snapshot.error)]
    first = min(exceptions, key=_order, default=None)
    ended = [state for state in ranks if state.alive is False and not state.snapshot.ended]
    gone = [state for state in ended if not state.terminated]
    if (
        first is not None
        and not _is_consequence(first)
        and not (_is_exit(first) and (aborted or gone))
    ):
        return [_unused_parameters(first, ranks) or _error(first)]
    if aborted:
        return [_different_sizes(aborted[0], ranks) or _killed(aborted[0])]
    if len(gone) == 1 and (first is not None or len(ended) > 1):
        return [_killed(gone[0])]
    finished = [state for state in ranks if state.snapshot.ended and not state.snapshot.error]
    if first is not None and finished:
        return [_ended_rank(finished[0], first)]
    return [_error(first)] if first else []


def _is_consequence(failure: _Failure) -> bool:
    return bool(CONSEQUENCES.search(failure.error.error))


def _is_exit(failure: _Failure) -> bool:
    """Whether the rank ended itself with an exit code, as a handler of SIGTERM may do, too."""
    return failure.error.error.startswith(BY_NUMBER)


def _order(failure: _Failure) -> tuple[bool, bool, float]:
    return _is_consequence(failure), _is_exit(failure), failure.state.snapshot.at


def _error(failure: _Failure) -> Finding:
    state, error = failure
    says = brief(error.error.splitlines()[0])
    at = f" at {error.error_at}" if error.error_at else ""
    step = divergence.step(state.passes) if state.passes else None
    return causes.ERROR.finding(
        f"Rank {state.rank} failed first{at}: {says}",
        rank=state.rank,
        where=error.error_at,
        step=step,
    )


def _unused_parameters(failure: _Failure, ranks: Sequence[RankState]) -> Finding | None:
    """Name the parameters that got no gradient, if that is DDP's error, which only numbers them."""
    state = failure.state
    if not state.snapshot.unused:
        return None
    names = ", ".join(f"`{name}`" for name in state.snapshot.unused[:8])
    passes = max(1, state.passes)
    sites = {other.rank: call_sites.of_rank(other) for other in ranks if other is not state}
    others = [(rank, site) for rank, site in sites.items() if site][:2]
    waits = [f"rank {rank} {site}" for rank, site in others if site.call]
    meanwhile = f" Meanwhile {', '.join(waits)}." if waits else ""
    return causes.UNUSED_PARAMETERS.finding(
        f"In backward pass {passes} (step {divergence.step(passes)} from 0) rank {state.rank} made "
        f"no gradient for {names}; DDP waits for one from each rank.{meanwhile}",
        rank=state.rank,
        step=divergence.step(passes),
        where=failure.error.error_at,
    )


def _different_sizes(state: RankState, ranks: Sequence[RankState]) -> Finding | None:
    """Explain a SIGABRT: Gloo ends a rank that gets a larger message than it waits for."""
    if call_sites.fatal_signal(state) != "Aborted":
        return None
    calls = [f"rank {rank.rank} was in {_call_in_words(rank)}" for rank in ranks[:4]]
    site = call_sites.of_rank(state)
    cause = causes.DIFFERENT_SIZES.finding(
        f"Gloo ended rank {state.rank} (SIGABRT), since a message was larger than the one that it "
        f"waited for: {'; '.join(calls)}.",
        rank=state.rank,
        where=site.at if site else "",
    )
    return divergence.with_difference(cause, ranks)


def _call_in_words(state: RankState) -> str:
    """The call in which a rank was, in words, with the size of its message if that is known."""
    site = call_sites.of_rank(state)
    if state.snapshot.error:
        site = call_sites.of_stack(state.snapshot.error.frames)
    last = state.calls[-1] if state.calls else None
    if state.passes > (last.passes if last else 0):
        size = words.size(state.record.gradients) if state.record.gradients else ""
        sends = f", whose gradients are {size} in all," if size else ""
        at = f" at {site.at}" if site and site.call == "backward" else ""
        return f"backward pass {state.passes}{sends}{at}"
    if site and last and last.where == site.at:
        size = f" of {words.size(last.nbytes)}, {last.shape}," if last.nbytes else ""
        return f"{last.name}{size} at {last.where}"
    if site and site.call:
        pending = state.snapshot.pending
        return f"{site.call} at {site.at}{f' ({pending[-1]})' if pending else ''}"
    return f"{last.name} at {last.where}" if last else "no call that is known"


def _ended_rank(gone: RankState, failure: _Failure) -> Finding:
    """The finding for a rank that came to its end while another, which then failed, needed it."""
    state, error = failure
    site = call_sites.of_stack(error.frames)
    waited = f"waited for it in {site.call}" if site and site.call else "needed it"
    at = f" at {error.error_at}" if error.error_at else ""
    cause = causes.ENDED_RANK.finding(
        f"Rank {gone.rank} came to its end while rank {state.rank} {waited}{at}: "
        f"{brief(error.error.splitlines()[0])}",
        rank=gone.rank,
        where=error.error_at,
    )
    return divergence.with_difference(cause, [gone, state])


def _killed(state: RankState) -> Finding:
    site, how = call_sites.of_rank(state), call_sites.fatal_signal(state)
    at = f" at {site.at}" if site else ""
    says = (
        f"by a fatal error ({how})" if how else "without a message, as after SIGKILL or `os._exit`"
    )
    return causes.KILLED.finding(
        f"Rank {state.rank} ended {says}{at}; other ranks failed after it.",
        rank=state.rank,
        where=site.at if site else "",
    )
