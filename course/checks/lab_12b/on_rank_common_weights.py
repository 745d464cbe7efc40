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
Member = tuple[int, int, int]  # a member's version, step and samples


def script(rounds: dict[int, list[str]] | None = None):
    """The learner's script, whose replicas meet in these `rounds` and no others."""
    module = importlib.import_module("common_weights")
    module.LIMIT_S = PATIENCE_S  # a busy machine is not a dead replica
    if rounds:
        module.meet = lambda store, number, me, deadline: (number, rounds[number])
    return module


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
def met(members: list[Member]) -> tuple[Tensor, int, int, int]:
    """The state after a round in which all is well: weights, version, step, samples."""
    names = [f"{member}.1" for member in range(len(members))]
    return _next(members, {members[0][0] + 1: names})


@held()
def survived(members: list[Member], fatal: str) -> tuple[Tensor, int, int, int]:
    """The state after a round in which the last member is killed, and one without it.

    It dies before it has told the others where it stands, or (`fatal` is "sum") in the middle of
    the sum. Its own rank returns the state of rank 0's kind with empty weights.
    """
    names = [f"{member}.1" for member in range(len(members))]
    first = members[0][0] + 1
    rounds = {first: names, first + 1: names[:-1]}
    if rank() < len(members) - 1:
        return _next(members, rounds)
    victim = get_context("fork").Process(target=_die, args=(members, rounds, fatal))
    victim.start()
    victim.join()
    return torch.empty(0), victim.exitcode, 0, 0


def _die(members: list[Member], rounds: dict[int, list[str]], fatal: str) -> None:
    """Come to the round, and be killed in the middle of it."""

    def killed(group: ProcessGroupGloo, state: object) -> None:
        if fatal == "sum":
            mine = torch.tensor([state.version, state.step, state.samples])
            every = [torch.empty_like(mine) for _ in range(group.size())]
            group.allgather(every, mine).wait()
        os.kill(os.getpid(), signal.SIGKILL)

    script().average = killed
    _next(members, rounds)


def _next(members: list[Member], rounds: dict[int, list[str]]) -> tuple[Tensor, int, int, int]:
    module, me = script(rounds), rank()
    version, step, samples = members[me]
    state = module.State(weights_of(me), version, step, samples)
    after = module.next_round(PrefixStore("rounds", connect()), f"{me}.1", state, 1.0)
    weights, version, step, samples = after
    return weights, int(version), int(step), int(samples)
