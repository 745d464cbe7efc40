"""Checks of `mirrored`, exercise 1 of lab 07."""

import functools

import torch

from course.checks.lab_07 import on_rank_mirrored as on_rank
from course.checks.lab_07.any_synchronous import AnySynchronous
from course.checks.lab_07.on_rank_strategy import train
from course.checks.lab_07.on_rank_training import loader
from course.checks.tools.hint import hint
from course.core import words


class TestMirrored(AnySynchronous):
    """Exercise 1: one process, several devices."""

    def trained(self, ranks, replicas: int, runs: list[tuple]) -> list:
        """All replicas are in one process."""
        return ranks(1, train, functools.partial(on_rank.make, replicas), runs)

    @hint(
        "The result of a floating-point sum depends on the order. Which device adds up, and which "
        "devices copy?"
    )
    def test_same_bits(self, ranks):
        """All mirrors are equal bit by bit after training."""
        (results,) = self.trained(ranks, 4, [("plain", "AdamW", (12,) * 4)])
        first, *others = results[0]
        assert len(others) == 3, f"there are {1 + len(others)} mirrors on 4 devices"
        same = all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True))
        assert same, "some mirrors differ in their last bits, and will drift apart"

    @hint("Look at `at_once` of the class `Strategy`: it gives every replica a thread.")
    def test_at_once(self, ranks):
        """The replicas take their steps at the same time, and what these return comes back in
        the order of the replicas.
        """
        met, values = ranks(1, on_rank.at_once, 3)[0]
        assert met == 3, (
            f"the first of 3 steps ends when {words.plural(met, 'step')} have begun: "
            "a replica waits for another to end"
        )
        inputs, _ = loader((7,))[0]
        expected = [float(part.sum()) for part in inputs.tensor_split(3)]
        assert values == expected, f"the three steps return {expected}, and run() returns {values}"

    @hint(
        "The sum needs the type and the shape of the tensors. Which torch function copies a tensor?"
    )
    def test_all_reduce(self, alone):
        """all_reduce() gives the exact sum: in double precision, of large whole numbers, of single
        numbers, and of infinity.
        """
        columns = (
            [torch.tensor([1.0 + k, 2.0**-50], dtype=torch.float64) for k in range(3)],
            [torch.full((2, 2), 2**60 + k) for k in range(3)],
            [torch.tensor(1.0 + k) for k in range(3)],
            [torch.tensor([float("inf"), 1.0])] * 2,
        )
        for column, got in zip(columns, alone(on_rank.sums, columns), strict=True):
            expected, first = sum(column), column[0]
            for tensor in got:
                assert torch.equal(tensor, expected), (
                    f"{len(column)} tensors of the type {first.dtype} and the shape "
                    f"{tuple(first.shape)} add up to {expected.tolist()}, and one becomes "
                    f"{tensor.tolist()}"
                )
