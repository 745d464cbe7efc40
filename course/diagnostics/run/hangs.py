"""Find out why a run hangs."""

from collections.abc import Sequence
from dataclasses import replace

from course.core import call_site, deadlocks, words
from course.diagnostics.finding import Finding
from course.diagnostics.run import call_sites, causes, divergence, failures
from course.diagnostics.watch.rank_states import RankState

JOIN_CALL = "init_process_group"


def findings(ranks: Sequence[RankState]) -> list[Finding]:
    """Find out why a run hangs: its cause, then notes. No living rank may have moved lately."""
    sites = {state.rank: waiting_site(state) for state in ranks}
    for rule in (
        _hidden_error,
        _two_threads,
        _not_joined,
        _ended_rank,
        _different_calls,
        _missing_call,
        _same_call,
        _outside,
    ):
        if cause := rule(ranks, sites):
            if cause.what not in (causes.TWO_THREADS.name, causes.NOT_JOINED.name):
                waits_at = [site.at for site in deadlocks.waiting(sites).values()]
                cause = divergence.with_difference(cause, ranks, waits_at)
            return [cause, *_later_line(ranks, sites)]
    return []


def waiting_site(state: RankState) -> call_site.CallSite | None:
    """Where a rank waits; on a GPU, where Python runs ahead, that is in its last recorded call."""
    site = call_sites.of_rank(state)
    if state.snapshot.cuda and state.calls and site and not site.call:
        last = state.calls[-1]
        file, _, line = last.where.rpartition(":")
        return call_site.CallSite(last.name, file, int(line or 0))
    return site


def _hidden_error(ranks: Sequence[RankState], sites: deadlocks.Sites) -> Finding | None:
    """Find a rank that waits in a call while it handles an exception, if another is elsewhere."""
    for state in ranks:
        mine, thread = sites[state.rank], call_sites.thread_with_exception(state)
        elsewhere = any(other and mine and other.at != mine.at for other in sites.values())
        if thread and mine and mine.call and elsewhere and state.alive is not False:
            error = thread.error.splitlines()[0].rstrip(".")
            raised = f", raised at {thread.error_at}" if thread.error_at else ""
            return causes.HIDDEN_ERROR.finding(
                f"Rank {state.rank} waits in {mine.call} at {mine.at} while an exception is "
                f"propagating ({error}{raised}), so its traceback has not been printed.",
                rank=state.rank,
                where=thread.error_at or mine.at,
                step=divergence.step(state.passes),
            )
    return None


def _two_threads(ranks: Sequence[RankState], sites: deadlocks.Sites) -> Finding | None:
    """Find a rank with two threads that wait in collectives of the same group."""
    for state in ranks:
        mine = sites[state.rank]
        for other in call_sites.of_other_threads(state):
            groups = {call.thread: call.group for call in state.calls}
            one_group = len({groups.get("", "0"), groups.get(other.thread, "0")}) == 1
            if mine and mine.call and one_group:
                return causes.TWO_THREADS.finding(
                    f"On rank {state.rank} the main thread waits in {mine.call} at {mine.at} and "
                    f"{other.thread} in {other.call} at {other.at}, both in one group: nothing "
                    f"says which of them the other ranks meet first.{_last_calls(ranks)}",
                    rank=state.rank,
                    where=other.at,
                )
    return None


def _last_calls(ranks: Sequence[RankState]) -> str:
    """A sentence on the last two calls of each rank, if their order differs."""
    last = {state.rank: [call.name for call in state.calls[-2:]] for state in ranks}
    if len({tuple(names) for names in last.values()}) < 2:
        return ""
    orders = [f"rank {rank} {', then '.join(names)}" for rank, names in list(last.items())[:4]]
    return f" The last calls: {'; '.join(orders)}."


def _not_joined(ranks: Sequence[RankState], sites: deadlocks.Sites) -> Finding | None:
    joining = {
        rank: site for rank, site in deadlocks.waiting(sites).items() if site.call == JOIN_CALL
    }
    if not joining:
        return None
    site = next(iter(joining.values()))
    world = max(state.snapshot.world for state in ranks)
    missing = sorted(set(range(world)) - set(joining))
    names = words.ranks(missing) if missing else "others"
    return causes.NOT_JOINED.finding(
        f"{deadlocks.who_waits(joining)} for {names}: of {world} ranks, {len(joining)} have come.",
        where=site.at,
        rank=missing[0] if len(missing) == 1 else None,
    )


def _ended_rank(ranks: Sequence[RankState], sites: deadlocks.Sites) -> Finding | None:
    dead = {state.rank: state for state in ranks if state.alive is False}
    living = {rank: site for rank, site in deadlocks.waiting(sites).items() if rank not in dead}
    says = deadlocks.ended_rank(living, dead)
    if not says:
        return None
    if any(state.snapshot.error for state in dead.values()):
        failed = failures.findings(list(dead.values()))[0]
        return replace(failed, says=f"{deadlocks.who_waits(living)}. {failed.says}")
    rank = min(dead) if len(dead) == 1 else None
    return causes.ENDED_RANK.finding(says, rank=rank, where=next(iter(living.values())).at)


def _different_calls(ranks: Sequence[RankState], sites: deadlocks.Sites) -> Finding | None:
    says = deadlocks.different_calls(sites)
    if not says:
        return None
    *_, last = deadlocks.waiting(sites).values()
    return causes.DIFFERENT_CALLS.finding(says, where=last.at)


def _missing_call(ranks: Sequence[RankState], sites: deadlocks.Sites) -> Finding | None:
    says = deadlocks.missing_call(sites)
    if not says:
        return None
    absent = [rank for rank in sites if rank not in deadlocks.waiting(sites)]
    first = sites[absent[0]] or next(iter(deadlocks.waiting(sites).values()))
    rank = absent[0] if len(absent) == 1 else None
    return causes.MISSING_CALL.finding(says, rank=rank, where=first.at)


def _same_call(ranks: Sequence[RankState], sites: deadlocks.Sites) -> Finding | None:
    in_calls = deadlocks.waiting(sites)
    if not in_calls:
        return None
    says = f"{deadlocks.who_waits(sites)}, and no message comes."
    sizes = {state.rank: state.snapshot.pending[0] for state in ranks if state.snapshot.pending}
    if len(set(sizes.values())) > 1:
        messages = [f"rank {rank} {size}" for rank, size in list(sizes.items())[:4]]
        says = f"{says} Their messages differ: {', '.join(messages)}."
    elif question := deadlocks.root_question(sites):
        says = f"{says} {question}"
    only_messages = deadlocks.only_messages(sites)
    cause = causes.UNMATCHED_MESSAGES if only_messages else causes.SAME_CALL
    return cause.finding(says, where=next(iter(in_calls.values())).at)


def _outside(ranks: Sequence[RankState], sites: deadlocks.Sites) -> Finding | None:
    states = [_in_words(rank, site) for rank, site in sites.items()]
    first = next((site for site in sites.values() if site), None)
    return causes.OUTSIDE.finding(
        f"No rank waits for another rank: {'; '.join(states[:4])}.",
        where=first.at if first else "",
    )


def _later_line(ranks: Sequence[RankState], sites: deadlocks.Sites) -> list[Finding]:
    """A note for ranks on GPUs, where Python already stands at a line after the call that waits."""
    on_gpus = [state for state in ranks if state.snapshot.cuda]
    here = call_sites.of_rank(on_gpus[0]) if on_gpus else None
    if not here or here.call:
        return []
    call = sites[on_gpus[0].rank]
    if not call or not call.call:
        return []
    says = (
        f"With NCCL a call returns before it is done: Python stands at {here.at}, and the last "
        f"collective that it began before is {call.call} at {call.at}."
    )
    if on_gpus[0].snapshot.pending:
        says += f" Not done, by torch's flight recorder: {'; '.join(on_gpus[0].snapshot.pending)}."
    return [causes.LATER_LINE.finding(says, rank=on_gpus[0].rank, where=call.at, note=True)]


def _in_words(rank: int, site: call_site.CallSite | None) -> str:
    return f"rank {rank} {site.brief if site else call_site.OUTSIDE}"
