"""Why a run that stands still cannot go on."""

from collections.abc import Sequence
from dataclasses import replace

from course.own.finding import Finding
from course.own.hang import of_calls, of_ends, places
from course.own.hang.causes import finding
from course.own.hang.places import Place
from course.own.watch.calls import POINT_TO_POINT
from course.own.watch.processes import Seen

JOINS = "init_process_group"


def found(ranks: Sequence[Seen]) -> list[Finding]:
    """Why it stands, the cause first; for ranks of which those that live have all been standing."""
    where = {seen.rank: waits(seen) for seen in ranks}
    for look in (_hidden, _threads, _not_joined, _ended, _different, _missing, _same, _outside):
        if one := look(ranks, where):
            parted = (
                of_calls.parted(ranks) if one.what not in ("two threads", "not joined") else None
            )
            if parted:
                sentence, step = parted
                told = step == 0 and any(p and p.call and p.at in sentence for p in where.values())
                says = one.says if told else f"{one.says} {sentence}"
                one = replace(one, says=says, step=step if one.step is None else one.step)
            return [one, *_later(ranks, where)]
    return []


def waits(seen: Seen) -> Place | None:
    """Where a rank stands; on a GPU, whose Python runs ahead, in the last call that it began."""
    where = places.of(seen)
    if seen.look.cuda and seen.calls and where and not where.call:
        last = seen.calls[-1]
        file, _, line = last.where.rpartition(":")
        return Place(last.name, file, int(line or 0))
    return where


def _hidden(ranks: Sequence[Seen], where: dict[int, Place | None]) -> Finding | None:
    """A rank handles an exception and waits, and another rank waits elsewhere."""
    for seen in ranks:
        mine, thread = where[seen.rank], places.handled(seen)
        elsewhere = any(other and mine and other.at != mine.at for other in where.values())
        if thread and mine and mine.call and elsewhere and seen.alive is not False:
            error = thread.error.splitlines()[0].rstrip(".")
            raised = f", raised at {thread.error_at}" if thread.error_at else ""
            return finding(
                "hidden error",
                f"Rank {seen.rank} waits in {mine.call} at {mine.at} while an exception is "
                f"propagating ({error}{raised}), so its traceback has not been printed.",
                rank=seen.rank,
                where=thread.error_at or mine.at,
                step=of_calls.step(seen.passes),
            )
    return None


def _threads(ranks: Sequence[Seen], where: dict[int, Place | None]) -> Finding | None:
    """Two threads of a rank wait in collectives of one group."""
    for seen in ranks:
        mine = where[seen.rank]
        for other in places.others(seen):
            groups = {call.thread: call.group for call in seen.calls}
            one_group = len({groups.get("", "0"), groups.get(other.thread, "0")}) == 1
            if mine and mine.call and one_group:
                return finding(
                    "two threads",
                    f"On rank {seen.rank} the main thread waits in {mine.call} at {mine.at} and "
                    f"{other.thread} in {other.call} at {other.at}, both in one group: nothing "
                    f"says which of them the other ranks meet first.{_orders(ranks)}",
                    rank=seen.rank,
                    where=other.at,
                )
    return None


def _orders(ranks: Sequence[Seen]) -> str:
    """In which order each rank has called last."""
    last = {seen.rank: [call.name for call in seen.calls[-2:]] for seen in ranks}
    if len({tuple(names) for names in last.values()}) < 2:
        return ""
    told = [f"rank {rank} {', then '.join(names)}" for rank, names in list(last.items())[:4]]
    return f" The last calls: {'; '.join(told)}."


def _not_joined(ranks: Sequence[Seen], where: dict[int, Place | None]) -> Finding | None:
    joining = [rank for rank, place in where.items() if place and place.call == JOINS]
    if not joining:
        return None
    world = max(seen.look.world for seen in ranks)
    missing = sorted(set(range(world)) - set(joining))
    names = _names(missing) if missing else "others"
    return finding(
        "not joined",
        f"{_waiting(joining, where[joining[0]])} for {names}: of {world} ranks, {len(joining)} "
        "have come.",
        where=where[joining[0]].at,
        rank=missing[0] if len(missing) == 1 else None,
    )


def _ended(ranks: Sequence[Seen], where: dict[int, Place | None]) -> Finding | None:
    gone = [seen for seen in ranks if seen.alive is False]
    left = [seen.rank for seen in ranks if seen.alive is not False]
    waiting = [rank for rank in left if where[rank] and where[rank].call]
    if not gone or not waiting:
        return None
    place = where[waiting[0]]
    if any(seen.look.error for seen in gone):
        failed = of_ends.found(gone)[0]
        return replace(failed, says=f"{_waiting(waiting, place)}. {failed.says}")
    names = _names([seen.rank for seen in gone], True)
    how = "has ended" if len(gone) == 1 else "have ended"
    return finding(
        "ended rank",
        f"{names} {how}. {_waiting(waiting, place)}, and a collective ends when every rank has "
        "called it.",
        rank=gone[0].rank if len(gone) == 1 else None,
        where=place.at,
    )


def _different(ranks: Sequence[Seen], where: dict[int, Place | None]) -> Finding | None:
    places_ = [place for place in where.values() if place and place.call]
    if len({(place.call, place.at) for place in places_}) < 2 or len(places_) < len(ranks):
        return None
    if {place.call for place in places_} <= set(POINT_TO_POINT):
        return None
    told = [f"{place.call} at {place.at}" for place in places_]
    calls = list(dict.fromkeys(told))
    return finding(
        "different calls",
        f"The ranks wait in different calls ({'; '.join(calls[:4])}): each waits for the others "
        "forever.",
        where=places_[-1].at,
    )


def _missing(ranks: Sequence[Seen], where: dict[int, Place | None]) -> Finding | None:
    waiting = [rank for rank, place in where.items() if place and place.call]
    absent = [rank for rank in where if rank not in waiting]
    if not waiting or not absent:
        return None
    place = where[waiting[0]]
    what = ", ".join(
        f"rank {rank} {where[rank] or 'is outside of the script'}" for rank in absent[:3]
    )
    if place.call in POINT_TO_POINT:
        says = f"{_waiting(waiting, place)} for a partner: {what}."
    else:
        says = (
            f"{_waiting(waiting, place)}. A collective ends when every rank has called it, and "
            f"{_names(absent)} did not call {place.call}: {what}."
        )
    first = where[absent[0]]
    rank = absent[0] if len(absent) == 1 else None
    return finding("missing call", says, rank=rank, where=first.at if first else place.at)


def _same(ranks: Sequence[Seen], where: dict[int, Place | None]) -> Finding | None:
    place = next((place for place in where.values() if place and place.call), None)
    if place is None:
        return None
    sizes = {seen.rank: seen.look.pending[0] for seen in ranks if seen.look.pending}
    told = ", ".join(f"rank {rank} {size}" for rank, size in list(sizes.items())[:4])
    differ = f" Their messages differ: {told}." if len(set(sizes.values())) > 1 else ""
    return finding(
        "same call",
        f"{_waiting(list(where), place)}, and no message comes.{differ}",
        where=place.at,
    )


def _outside(ranks: Sequence[Seen], where: dict[int, Place | None]) -> Finding | None:
    told = [_stands(rank, place) for rank, place in where.items()]
    first = next((place for place in where.values() if place), None)
    return finding(
        "outside",
        f"No rank waits for another rank: {'; '.join(told[:4])}.",
        where=first.at if first else "",
    )


def _later(ranks: Sequence[Seen], where: dict[int, Place | None]) -> list[Finding]:
    """Of ranks on GPUs, that the line of a stack comes after the call that waits."""
    on_gpus = [seen for seen in ranks if seen.look.cuda]
    stands = places.of(on_gpus[0]) if on_gpus else None
    if not stands or stands.call:
        return []
    call = where[on_gpus[0].rank]
    if not call or not call.call:
        return []
    says = (
        f"With NCCL a call returns before it is done: Python stands at {stands.at}, and the last "
        f"collective that it began before is {call.call} at {call.at}."
    )
    if on_gpus[0].look.pending:
        says += f" Not done, by torch's flight recorder: {'; '.join(on_gpus[0].look.pending)}."
    return [Finding("later line", says, rank=on_gpus[0].rank, where=call.at, note=True)]


def _stands(rank: int, place: Place | None) -> str:
    return f"rank {rank} {place.brief if place else 'is outside of the script'}"


def _names(ranks: Sequence[int], begins: bool = False) -> str:
    """Ranks as one says them: "rank 1", "ranks 1 and 3", "ranks 0 to 6"."""
    ranks = sorted(ranks)
    lead = "Rank" if begins else "rank"
    if len(ranks) == 1:
        return f"{lead} {ranks[0]}"
    if len(ranks) > 2 and ranks == list(range(ranks[0], ranks[-1] + 1)):
        return f"{lead}s {ranks[0]} to {ranks[-1]}"
    shown = [str(rank) for rank in ranks[:8]]
    return f"{lead}s {', '.join(shown[:-1])} and {shown[-1]}"


def _waiting(ranks: Sequence[int], place: Place) -> str:
    """Such ranks, and where they wait: "Ranks 0 and 2 wait in barrier at train.py:30"."""
    verb = "waits" if len(ranks) == 1 else "wait"
    return f"{_names(ranks, True)} {verb} in {place.call} at {place.at}"
