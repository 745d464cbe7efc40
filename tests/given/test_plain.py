"""The engine's given parts in `plain`: what they answer, refuse, and send together."""

import torch

from course.given.horovod import Request, plain

SUM = Request("x", "allreduce", ((3,),), 12, "float32", "cpu", "Sum")


def answered(*requests: Request) -> list[tuple[str, str]]:
    """The answers to these requests, made by two ranks in turn: names and errors."""
    table = plain.Negotiation(2)
    for rank, request in enumerate(requests):
        table.hear(rank % 2, request, 0.0)
    pairs = [(answer.key[0], answer.error) for answer in table.answers()]
    assert table.answers() == []
    return pairs


def test_an_operation_is_answered_when_both_ranks_have_asked_for_it():
    assert answered(SUM) == []
    assert answered(SUM, SUM) == [("x", "")]
    assert answered(SUM, SUM._replace(name="y"), SUM._replace(name="y"), SUM) == [
        ("x", ""),
        ("y", ""),
    ]


def test_ranks_that_differ_are_told_so_but_rows_of_an_allgather_may():
    for other in ({"shapes": ((4,),)}, {"op": "Max"}, {"dtype": "int64"}, {"kind": "broadcast"}):
        ((_, error),) = answered(SUM, SUM._replace(**other))
        assert "do not ask for the same" in error
    rows = SUM._replace(kind="allgather", shapes=((3, 2),), bytes=24)
    assert answered(rows, rows._replace(shapes=((1, 2),), bytes=8)) == [("x", "")]
    ((_, error),) = answered(rows, rows._replace(shapes=((3, 1),)))
    assert "do not ask for the same" in error


def test_a_refusal_is_answered_at_once_with_its_reason():
    assert answered(SUM._replace(fault="used twice")) == [("x", "used twice")]


def test_nothing_shares_a_message_but_the_tensors_of_a_group():
    assert plain.fuse(["a", "b"], 10**9) == [["a"], ["b"]]
    tensors = [torch.arange(4.0).view(2, 2), torch.tensor(7.0)]
    flat = plain.pack(tensors, torch.empty(9))
    assert flat.tolist() == [0, 1, 2, 3, 7]
    plain.unpack(flat * 2, tensors)
    assert [tensor.tolist() for tensor in tensors] == [[[0, 2], [4, 6]], 14]
