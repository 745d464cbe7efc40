"""Why ranks wait for each other forever, judging by the calls in which they wait."""

from collections.abc import Collection, Mapping

from course.core import call_site, words
from course.core.call_site import CallSite

FORWARD = " This forward waits for all ranks: a rank that computes alone calls `ddp.module`."
ROOTS = {"broadcast": "src", "scatter": "src", "gather": "dst", "reduce": "dst"}

Sites = Mapping[int, CallSite | None]  # by rank; None for a rank that is outside the script


def waiting(sites: Sites) -> dict[int, CallSite]:
    """The ranks that wait in a call, and where."""
    return {rank: site for rank, site in sites.items() if site and site.call}


def who_waits(sites: Sites) -> str:
    """Ranks and the calls in which they wait: "Ranks 0 and 2 wait in barrier at train.py:30"."""
    by_call: dict[str, list[int]] = {}
    for rank, site in waiting(sites).items():
        by_call.setdefault(f"{site.call} at {site.at}", []).append(rank)
    parts = [
        f"{words.ranks(ranks)} {'waits' if len(ranks) == 1 else 'wait'} in {call}"
        for call, ranks in by_call.items()
    ]
    return "; ".join(parts[:4]).replace("rank", "Rank", 1)


def ended_rank(sites: Sites, ended: Collection[int]) -> str:
    """A sentence if ranks wait, and others have ended; "" if not."""
    if not ended or not waiting(sites):
        return ""
    have = "has" if len(ended) == 1 else "have"
    ends = ", and a collective ends when every rank has called it" if _collectives(sites) else ""
    return f"{words.ranks(ended, True)} {have} ended. {who_waits(sites)}{ends}."


def different_calls(sites: Sites) -> str:
    """A sentence if every rank waits, but in calls that cannot meet; "" if not.

    Messages are no such calls: a `send` meets a `recv`.
    """
    calls = list(dict.fromkeys(f"{site.call} at {site.at}" for site in waiting(sites).values()))
    if len(waiting(sites)) < len(sites) or len(calls) < 2 or not _collectives(sites):
        return ""
    return (
        f"The ranks wait in different calls ({'; '.join(calls[:4])}): each waits for the others "
        f"forever.{_forward(sites)}"
    )


def missing_call(sites: Sites) -> str:
    """A sentence if some ranks wait in a call, and others in none; "" if not."""
    absent = sites.keys() - waiting(sites)
    if not absent or len(absent) == len(sites):
        return ""
    where = [f"rank {rank} {sites[rank] or call_site.OUTSIDE}" for rank in sorted(absent)[:3]]
    if collectives := _collectives(sites):
        return (
            f"{who_waits(sites)}. A collective ends when every rank has called it, and "
            f"{words.ranks(absent)} did not call {' or '.join(collectives)}: "
            f"{', '.join(where)}.{_forward(sites)}"
        )
    return f"{who_waits(sites)} for a partner: {', '.join(where)}."


def root_question(sites: Sites) -> str:
    """A question if several ranks all wait in one call that has a root; "" if not."""
    calls = {site.call if site else "" for site in sites.values()}
    if len(sites) < 2 or len(calls) > 1 or not calls <= ROOTS.keys():
        return ""
    call = calls.pop()
    return f"Do all ranks name the same `{ROOTS[call]}` in {call}?"


def only_messages(sites: Sites) -> bool:
    """Whether ranks wait only in messages between two ranks; a `wait` may be for a collective."""
    calls = {site.call for site in waiting(sites).values()}
    return calls <= call_site.POINT_TO_POINT - {"wait"}


def _collectives(sites: Sites) -> list[str]:
    """The collectives in which ranks wait; a message, such as a `send`, is none."""
    return sorted({site.call for site in waiting(sites).values()} - call_site.POINT_TO_POINT)


def _forward(sites: Sites) -> str:
    """What to do with a forward that only some ranks call, if one of these ranks waits in it."""
    waits = any(site.call == "forward" for site in waiting(sites).values())
    return FORWARD if waits else ""
