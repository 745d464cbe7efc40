"""The batches of several ranks become one, or an error says why they cannot."""

from collections import UserDict, namedtuple

import pytest
import torch

from course.diagnostics.numerics.stacking import CannotStack, stack

Pair = namedtuple("Pair", "x y")


def test_samples_follow_one_another_in_each_field() -> None:
    zeros, ones = torch.zeros(2, 3), torch.ones(4, 3)
    assert stack([zeros, ones]).shape == (6, 3)
    x, y = stack([[zeros, torch.arange(2)], [ones, torch.arange(4)]])
    assert x.sum(1).tolist() == [0, 0, 3, 3, 3, 3] and y.tolist() == [0, 1, 0, 1, 2, 3]
    assert isinstance(stack([Pair(zeros, 1), Pair(ones, 1)]), Pair)
    whole = stack([{"x": zeros, "text": ["a", "b"]}, {"x": ones, "text": ["c"]}])
    assert whole["text"] == ["a", "b", "c"] and len(whole["x"]) == 6


def test_the_batches_stay_as_they_are() -> None:
    batch = UserDict(x=torch.zeros(2))
    whole = stack([batch, UserDict(x=torch.ones(2))])
    assert isinstance(whole, UserDict) and len(whole["x"]) == 4 and len(batch["x"]) == 2
    part = torch.zeros(1000)[:2]
    assert stack([part]).untyped_storage().nbytes() == 8


@pytest.mark.parametrize(
    ("batches", "why"),
    [
        ([torch.zeros(2, 17), torch.zeros(2, 23)], r"shapes, such as \[2, 17\] and \[2, 23\]"),
        ([torch.zeros(2), torch.zeros(2, dtype=torch.int)], "different shapes"),
        ([{"x": 1}, {"y": 1}], "different keys"),
        ([3, 4], "a number or a text of their own"),
        ([torch.tensor(3), torch.tensor(4)], "a number of their own"),
        ([[torch.zeros(1)], [torch.zeros(1)] * 2], "lists of different lengths"),
        ([torch.zeros(2), [1]], "several types"),
        ([{1}, {1}], "have a set"),
        ([torch.zeros(2).to_sparse(), torch.zeros(2).to_sparse()], "sparse"),
    ],
)
def test_what_cannot_be_stacked_raises_an_error(batches: list, why: str) -> None:
    with pytest.raises(CannotStack, match=why):
        stack(batches)
