"""What the checks of `hvd_negotiation` do: fill a table of requests, without an engine."""

import importlib
import math
from collections.abc import Iterable, Mapping
from types import ModuleType

import torch
import torch.distributed as dist

from course.given.horovod import Request


def negotiation() -> ModuleType:
    """The learner's module."""
    return importlib.import_module("hvd_negotiation")


def ask(name: str, kind: str = "allreduce", **details: object) -> Request:
    """A request for a float32 tensor of three numbers, unless the details say otherwise."""
    usual = {"shapes": ((3,),), "dtype": "float32", "device": "cpu", "op": "Average"}
    request = Request(name, kind, **usual | details)
    elements = sum(map(math.prod, request.shapes))
    return request._replace(bytes=elements * getattr(torch, request.dtype).itemsize)


def plain(answers: list) -> list[tuple]:
    """Answers as plain values: key, the shapes by rank, the error."""
    return [
        (tuple(answer.key), [request.shapes for request in answer.requests], answer.error)
        for answer in answers
    ]


def own_orders() -> list[list[tuple]]:
    """What each cycle answers when every rank asks for the same six operations in its own order.

    Each cycle hears two requests of every rank. Rank r's tensors are of shape (r + 1,), and
    gathered, so that the answers show whose requests they hold.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    mine = _own_order(rank)
    table, cycles = negotiation().Negotiation(size), []
    for cycle in range(4):
        new = [
            ask(name, "allgather", shapes=((rank + 1,),))
            for name in mine[2 * cycle : 2 * cycle + 2]
        ]
        heard = [None] * size
        dist.all_gather_object(heard, new)
        for who, requests in enumerate(heard):
            for request in requests:
                table.hear(who, request, float(cycle))
        cycles.append(plain(table.answers()))
    return cycles


def _own_order(rank: int) -> list[str]:
    """The names a to f, rotated on even ranks and reversed on odd ones."""
    names = ["a", "b", "c", "d", "e", "f"]
    if rank % 2 == 1:
        return names[::-1]
    return [*names[2 * rank :], *names[: 2 * rank]]


def cycles(*heard: list[tuple[int, tuple]], size: int = 2) -> list[list[tuple]]:
    """What `size` ranks are answered after each cycle, in which (rank, (name, details)) are
    heard.
    """
    table, answers = negotiation().Negotiation(size), []
    for now, cycle in enumerate(heard):
        for rank, (name, details) in cycle:
            table.hear(rank, ask(name, **details), float(now))
        answers.append(plain(table.answers()))
    return answers


def kept() -> tuple[int, int]:
    """How many entries the table has after 10 operations of two ranks, and after 60.

    Each operation is a use of one name; every fifth is refused by rank 1.
    """
    table, entries = negotiation().Negotiation(2), []
    for use in range(1, 61):
        table.hear(0, ask("x", use=use), float(use))
        table.hear(1, ask("x", use=use, fault="" if use % 5 else "refused"), float(use))
        table.answers()
        entries.append(_entries(vars(table)))
    return entries[9], entries[59]


def _entries(thing: object) -> int:
    """How many entries a container has, including those of containers inside it."""
    if isinstance(thing, Mapping):
        thing = thing.values()
    if isinstance(thing, str) or not isinstance(thing, Iterable):
        return 1
    return sum(_entries(element) for element in thing)


def disagreements(cases: dict[str, tuple[dict, list[dict]]]) -> dict[str, tuple]:
    """By case: the errors where rank 0, 1 or 2 alone differs, the error where each rank has its own
    details, and the error where each has those of the rank before it.
    """
    errors = {}
    for case, (usual, (first, second, third)) in cases.items():
        odd = [
            _error(usual, [second if rank == who else first for rank in range(3)])
            for who in range(3)
        ]
        error, turned = _error(usual, [first, second, third]), _error(usual, [third, first, second])
        errors[case] = odd, error, turned
    return errors


def _error(usual: dict, details: list[dict]) -> str:
    """The error that three ranks get if each requests with its own details."""
    table = negotiation().Negotiation(3)
    for rank in (2, 0, 1):  # not in their order
        table.hear(rank, ask("grad", **usual | details[rank]), 0.0)
    return "; ".join(answer.error for answer in table.answers())


def missing() -> list[dict[str, list[int]]]:
    """Who is missing at 10, 11, 15 and 18 s, with a patience of 5 s; three ranks ask in between."""
    table, late = negotiation().Negotiation(3), []
    table.hear(1, ask("early"), 5.0)
    table.hear(2, ask("early"), 9.0)
    table.hear(0, ask("whole"), 5.0)
    table.hear(1, ask("whole"), 5.0)
    table.hear(2, ask("whole"), 5.0)
    table.answers()
    late += [table.missing(10.0, 5.0), table.missing(11.0, 5.0)]
    table.hear(0, ask("later"), 12.0)
    table.hear(2, ask("last"), 12.0)
    table.hear(0, ask("early"), 13.0)
    table.answers()
    return [*late, table.missing(15.0, 5.0), table.missing(18.0, 5.0)]
