"""What a ledger records of real tensors, and what its events add up to."""

import torch
from torch import nn

from course.diagnostics.fit.account import Account, add_up
from course.diagnostics.fit.ledger import Ledger
from course.diagnostics.watch.lines import Lines

MIB = 2**20


def ledger() -> Ledger:
    """A ledger that runs every operation on real tensors."""
    return Ledger(Lines(__file__), lambda function, given, args, kwargs: function(*args, **kwargs))


def account_of(book: Ledger) -> Account:
    return add_up(book.record)


def test_the_peak_is_of_what_lives_together() -> None:
    with ledger() as book:
        for _ in range(3):
            torch.zeros(MIB // 4)
        both = torch.zeros(MIB // 4), torch.zeros(MIB // 4)
    del both
    assert account_of(book).peak == 2 * MIB
    assert account_of(book).at.startswith("test_ledger.py:")


def test_views_and_changes_in_place_are_no_memory() -> None:
    with ledger() as book:
        tensor = torch.zeros(MIB // 4)
        tensor.view(2, -1).add_(1)
    assert account_of(book).peak == MIB


def test_a_kind_that_is_known_later_counts_from_the_first() -> None:
    with ledger() as book:
        weight = nn.Parameter(torch.zeros(MIB // 4))
        book.begin_phase("forward", "activations")
        product = weight * 2
        book.mark([weight], "weights")
        book.mark([weight], "optimizer")  # ranks lower
    assert account_of(book).by == {
        "weights": MIB, "gradients": 0, "optimizer": 0, "buffers": 0, "activations": MIB,
        "other": 0,
    }  # fmt: skip
    del product


def test_only_what_is_on_a_gpu_counts_once_one_is_used() -> None:
    with ledger() as book:
        host = torch.zeros(MIB // 4)
        there = host.to(dtype=torch.float64)
        book.put_on_gpu(there)
        more = there + 1
    account = account_of(book)
    assert account.uses_gpu and account.peak == 4 * MIB
    del more
