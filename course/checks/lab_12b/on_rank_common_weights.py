"""What the checks of `common_weights` do on each rank."""

import importlib
import os
import signal
from datetime import timedelta
from multiprocessing import get_context

import torch
from torch import Tensor
from torch.distributed import PrefixStore, ProcessGroupGloo

from course.checks.lab_12b.on_rank_store import PATIENCE_S, connect, held

LENGTH = 1000
DEADLINE_S = 0.7  # that the check gives to `next_round`
Member = tuple[int, int, int]  # a member's version, step and samples
State = tuple[Tensor, int, int, int]  # weights, version, step, samples
Rounds = dict[int, list[str]]  # the members of each round


def script():
    """The learner's script, which waits long enough: a busy machine is not a dead replica."""
    module = importlib.import_module("common_weights")
    module.LIMIT_S = PATIENCE_S
    return module


class Meetings:
    """Stands for `meet` and notes the rounds for which a group is made; knows these `rounds` alone.

    A member that asks for a round comes into the first one from there on in which it takes part.
    Raises an `AssertionError` where it asks for the wrong one, or for somebody else.
    """

    def __init__(self, module: object, rounds: Rounds, me: str, version: int) -> None:
        self.rounds, self.me, self.last = rounds, me, version
        self.groups: list[int] = []
        self._group_of, module.meet, module.group_of = module.group_of, self.meet, self.group_of

    def meet(self, store: object, number: int, me: str, deadline: float) -> tuple[int, list[str]]:
        """The next round of `me`, and its members."""
        before = f"round {self.last} has failed" if self.groups else f"its version is {self.last}"
        assert number == self.last + 1, (
            f"{before}, so the next round is {self.last + 1}, and it asks for round {number}"
        )
        assert me == self.me, f"{self.me} asks for {me}"
        assert deadline == DEADLINE_S, (
            f"next_round() was given a deadline of {DEADLINE_S} s, and gives meet() {deadline} s"
        )
        came = [round_ for round_ in self.rounds if round_ >= number and me in self.rounds[round_]]
        assert came, f"round {self.last} has all its members, and it asks for another one"
        self.last = came[0]
        return self.last, list(self.rounds[self.last])

    def group_of(self, store: object, number: int, *args: object, **kwargs: object) -> object:
        """The learner's group."""
        assert number == self.last, (
            f"meet() has answered round {self.last}, and it makes the group of round {number}"
        )
        self.groups.append(number)
        return self._group_of(store, number, *args, **kwargs)


def rank() -> int:
    """The number of this rank."""
    return int(os.environ["RANK"])


def weights_of(member: int) -> Tensor:
    """The weights with which a member comes."""
    generator = torch.Generator().manual_seed(member)
    return torch.randn(LENGTH, generator=generator)


@held()
def averaged(members: list[Member]) -> tuple[Tensor, int, bool]:
    """The learner's average over the members and its step; whether the own weights are as before.

    Rank r is member r, with `weights_of(r)`.
    """
    module, me = script(), rank()
    store = PrefixStore("average", connect())
    group = ProcessGroupGloo(store, me, len(members), timedelta(seconds=PATIENCE_S))
    version, step, samples = members[me]
    state = module.State(weights_of(me), version, step, samples)
    weights, step = module.average(group, state)
    group.allreduce(torch.zeros(1)).wait()  # nobody leaves before all are done
    return weights, int(step), torch.equal(state.weights, weights_of(me))


@held()
def met(members: list[Member], later: int = 0) -> State:
    """The state after a round in which all is well.

    It is so much `later` than the one that they ask for: others have met without them.
    """
    number = members[rank()][0] + 1 + later
    return _next(members, {number: _names(members)})


@held()
def survived(members: list[Member], fatal: str, victims: int) -> State | int:
    """The state after rounds in each of which the last member is killed, and one in which none is.

    It dies before it has told the others where it stands, or (`fatal` is "sum") in the middle of
    the sum. A victim's rank returns how its process ended.
    """
    names, first = _names(members), members[0][0] + 1
    rounds = {first + killed: names[: len(names) - killed] for killed in range(victims + 1)}
    if rank() < len(members) - victims:
        return _next(members, rounds)
    victim = get_context("fork").Process(target=_die, args=(members, rounds, fatal))
    victim.start()
    victim.join()
    return victim.exitcode


def _names(members: list[Member]) -> list[str]:
    return [f"{member}.1" for member in range(len(members))]


def _die(members: list[Member], rounds: Rounds, fatal: str) -> None:
    """Come to the rounds, and be killed in the middle of the last one that has this member."""
    module, me = script(), f"{rank()}.1"
    average, group_of, made = module.average, module.group_of, []
    fatal_round = max(number for number, names in rounds.items() if me in names)

    def noted(store: object, number: int, *args: object, **kwargs: object) -> object:
        made.append(number)
        return group_of(store, number, *args, **kwargs)

    def killed(group: ProcessGroupGloo, state: object) -> object:
        if made[-1] < fatal_round:
            return average(group, state)
        if fatal == "sum":
            mine = torch.tensor([state.version, state.step, state.samples])
            every = [torch.empty_like(mine) for _ in range(group.size())]
            group.allgather(every, mine).wait()
        os.kill(os.getpid(), signal.SIGKILL)

    module.average, module.group_of = killed, noted
    _next(members, rounds)


def _next(members: list[Member], rounds: Rounds) -> State:
    """What the learner's `next_round` makes of this rank's state in these rounds."""
    module, me = script(), f"{rank()}.1"
    version, step, samples = members[rank()]
    meetings = Meetings(module, rounds, me, version)
    state = module.State(weights_of(rank()), version, step, samples)
    try:
        after = module.next_round(PrefixStore("rounds", connect()), me, state, DEADLINE_S)
    except module.RoundFailed:
        raise AssertionError(
            f"round {meetings.last} has failed, and next_round() ends with RoundFailed"
        ) from None
    weights, version, step, samples = after
    return weights, int(version), int(step), int(samples)
