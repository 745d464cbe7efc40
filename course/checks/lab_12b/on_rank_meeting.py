"""What the checks of `meeting` do on each rank."""

import importlib
import os
import threading
import time

from course.checks.lab_12b.on_rank_interleaved import Interleaved
from course.checks.lab_12b.on_rank_store import connect, held

FOREVER_S = 1000.0
METHODS = ("append", "get", "check", "compare_set", "set", "add", "wait")


def script():
    """The learner's script."""
    return importlib.import_module("meeting")


@held()
def one_after_the_other(proposals: tuple[str, ...]) -> dict[str, list[str]]:
    """What `agree` answers to proposals that come one after the other, under each of two keys."""
    agree, store = script().agree, connect()
    return {key: [str(agree(store, key, key + proposal)) for proposal in proposals] for key in "ab"}


@held()
def crossing(before: int) -> tuple[str, str, int]:
    """What two callers of `agree` hear if the second comes in before the first one's call number
    `before` to the store; and how many calls that one made.
    """
    agree, answers = script().agree, []
    rival = threading.Thread(
        target=lambda: answers.append(str(agree(connect(), "key", "the other's"))), daemon=True
    )
    first = Interleaved(connect(), METHODS, before, rival)
    mine = str(agree(first, "key", "mine"))
    first.finish()
    return mine, "".join(answers), first.calls


def closes(cases: list[tuple[str, list[str], list[str], float, float]]) -> list[bool]:
    """What `may_close` answers in each case."""
    return [bool(script().may_close(*case)) for case in cases]


@held()
def rounds(names: tuple[str, ...], count: int) -> list[tuple[int, list[str]]]:
    """The rounds in which this rank takes part; the last of the `names` is a newcomer's, who is
    there before the others come.
    """
    rank = int(os.environ["RANK"])
    module, store, me = script(), connect(), names[rank]
    if rank == 0:
        store.set("round 0/members", " ".join(names[:-1]))
    store.wait(["round 0/members"])
    while me != names[-1] and names[-1] not in store.get("round 1/here").decode():
        time.sleep(0.01)
    number, met = 0, []
    while len(met) < count:
        number, members = module.meet(store, number + 1, me, FOREVER_S)
        met.append((int(number), [str(name) for name in members]))
    return met


@held()
def without_one(deadline: float) -> tuple[int, list[str], float]:
    """A round whose third member never comes: its number, its members, and how long it took."""
    module, store = script(), connect()
    store.set("round 0/members", "0.1 1.1 2.1")
    store.append("round 1/here", "0.1 ")
    began = time.monotonic()
    number, members = module.meet(store, 1, "1.1", deadline)
    return int(number), [str(name) for name in members], time.monotonic() - began
