"""What the checks of lab 06 do on each rank with the negotiation and the fusion, which need no engine."""

import importlib
from types import ModuleType

import torch
import torch.distributed as dist

# -- negotiation -------------------------------------------------------------------------------------------------------


def negotiation() -> ModuleType:
    return importlib.import_module("hvd_negotiation")


def ask(name: str, kind: str = "allreduce", **details: object) -> tuple:
    """A request for a float32 tensor of three numbers, unless the details say otherwise."""
    usual = {"shapes": ((3,),), "bytes": 12, "dtype": "float32", "device": "cpu", "op": "Average"}
    return negotiation().Request(name, kind, **usual | details)


def told(answers: list) -> list[tuple]:
    """Answers as plain values: key, the shapes by rank, the error."""
    return [
        (tuple(answer.key), [request.shapes for request in answer.requests], answer.error)
        for answer in answers
    ]


def own_orders() -> list[list[tuple]]:
    """What each cycle answers when every rank asks for the same six operations in its own order, two in a cycle.

    Rank r's tensors are of shape (r + 1,), and gathered, so that the answers show whose requests they hold.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    names = ["a", "b", "c", "d", "e", "f"]
    mine = [*names[2 * rank :], *names[: 2 * rank]] if rank % 2 == 0 else names[::-1]
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
        cycles.append(told(table.answers()))
    return cycles


def cycles(*heard: list[tuple[int, tuple]], world_size: int = 2) -> list[list[tuple]]:
    """What a negotiation answers after each cycle in which it has heard those (rank, (name, details))."""
    table, answers = negotiation().Negotiation(world_size), []
    for now, cycle in enumerate(heard):
        for rank, (name, details) in cycle:
            table.hear(rank, ask(name, **details), float(now))
        answers.append(told(table.answers()))
    return answers


def disagreements(cases: dict[str, tuple[dict, dict]]) -> dict[str, str]:
    """The error, by case, when rank 0 asks with the first details and ranks 1 and 2 with the second."""
    errors = {}
    for case, (first, others) in cases.items():
        table = negotiation().Negotiation(3)
        for rank in (2, 0, 1):  # whoever is heard first
            table.hear(rank, ask("grad", **(others if rank else first)), 0.0)
        errors[case] = "; ".join(answer.error for answer in table.answers())
    return errors


def missing() -> list[dict[str, list[int]]]:
    """Who is missing after 10, 11 and 15 s with a patience of 5 s; three ranks, asked at 5, 9 and 12 s."""
    table, late = negotiation().Negotiation(3), []
    table.hear(1, ask("early"), 5.0)
    table.hear(2, ask("early"), 9.0)
    table.hear(0, ask("whole"), 5.0)
    table.hear(1, ask("whole"), 5.0)
    table.hear(2, ask("whole"), 5.0)
    table.answers()
    late += [table.missing(10.0, 5.0), table.missing(11.0, 5.0)]
    table.hear(0, ask("later"), 12.0)
    table.hear(0, ask("early"), 13.0)
    table.answers()
    return [*late, table.missing(15.0, 5.0), table.missing(18.0, 5.0)]


# -- fusion ------------------------------------------------------------------------------------------------------------


def fuse(*cases: tuple[int, list[tuple[str, int, dict]]]) -> list[list[str]]:
    """For each case of a threshold and operations (name, bytes, details): the names of what travels together."""
    answer = negotiation().Answer
    fused = []
    for threshold, wanted in cases:
        answers = [
            answer((name, 1), tuple(ask(name, bytes=size, **details) for _ in range(2)))
            for name, size, details in wanted
        ]
        batches = importlib.import_module("hvd_fusion").fuse(answers, threshold)
        fused.append(["".join(answer.key[0] for answer in batch) for batch in batches])
    return fused


SHAPES = ((2, 3), (), (4,), (1, 1, 2))


def packed() -> dict[str, object]:
    """What pack and unpack do with four tensors of this rank, around one all-reduce."""
    fusion = importlib.import_module("hvd_fusion")
    generator = torch.Generator().manual_seed(dist.get_rank())
    tensors = [torch.randn(shape, generator=generator) for shape in SHAPES]
    before, outputs = (
        [t.clone() for t in tensors],
        [torch.full(shape, float("nan")) for shape in SHAPES],
    )
    given = list(outputs)
    buffer = torch.full((20,), 7.0)
    flat = fusion.pack(tensors, buffer)
    unchanged = all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))
    elements, beyond = flat.numel(), buffer.numel() == 20 and buffer[13:].eq(7).all().item()
    shared = flat.data_ptr() == buffer.data_ptr()
    dist.all_reduce(flat)
    fusion.unpack(flat, outputs)
    for tensor in before:
        dist.all_reduce(tensor)
    flat.zero_()  # as the next message does
    off = max(float((a - b).abs().nan_to_num(9).max()) for a, b in zip(given, before, strict=True))
    return {
        "off": off,
        "unchanged": unchanged,
        "elements": elements,
        "beyond": beyond,
        "shared": shared,
    }
