"""Checks of `mirrored`, exercise 1 of lab 07."""

import functools

import torch

from course.checks.lab_07 import on_rank_mirrored as on_rank
from course.checks.lab_07.any_synchronous import AnySynchronous
from course.checks.lab_07.on_rank_strategy import train
from course.checks.lab_07.on_rank_training import loader
from course.checks.tools.hint import Failure, hint
from course.checks.tools.reference import furthest
from course.core import words

ONE_EACH = "Each place in `self.devices` is a replica, also if the same device is there twice."
SAME_UPDATE = "Gradients move between the mirrors, never weights. Who then updates a mirror?"


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
        """All mirrors are equal bit by bit after training, and so is what their optimizers
        remember.
        """
        mirrors, states = ranks(1, on_rank.variables, 4)[0]
        for copies, what in ((mirrors, "mirror"), (states, "optimizer")):
            if len(copies) != 4:
                raise Failure(f"4 devices have {words.plural(len(copies), what)}", ONE_EACH)
        first, *others = mirrors
        for other in others:
            if not all(map(torch.equal, first, other)):
                off = furthest(first, other)
                raise AssertionError(f"two mirrors differ by {off:.2g}, and will drift apart")
        for number, state in enumerate(states):
            if len(state) != len(states[0]) or not all(map(torch.equal, states[0], state)):
                fault = f"optimizer {number} does not remember the same as optimizer 0"
                raise Failure(fault, SAME_UPDATE)

    @hint("Look at `at_once` of the class `Strategy`: it gives every replica a thread.")
    def test_at_once(self, ranks):
        """The replicas take their steps at the same time, and what these return comes back in
        the order of the replicas.
        """
        met, values = ranks(1, on_rank.at_once, 3)[0]
        inputs, _ = loader((7,))[0]
        expected = [float(part.sum()) for part in inputs.tensor_split(3)]
        assert values == expected, f"the three steps return {expected}, and run() returns {values}"
        assert met == 3, (
            f"of 3 steps only {met} had begun when the first one ended: "
            "a replica waits for another to end"
        )

    @hint(
        "The sum needs the type and the shape of the tensors. Which torch function copies a tensor?"
    )
    def test_all_reduce(self, alone):
        """all_reduce() gives the exact sum: in double precision, of large whole numbers, of single
        numbers, and of infinity, and each tensor keeps its own memory.
        """
        columns = (
            [torch.tensor([1.0 + k, 2.0**-50], dtype=torch.float64) for k in range(3)],
            [torch.full((2, 2), 2**60 + k) for k in range(3)],
            [torch.tensor(1.0 + k) for k in range(3)],
            [torch.tensor([float("inf"), 1.0])] * 2,
        )
        for column, (got, apart) in zip(columns, alone(on_rank.sums, columns), strict=True):
            expected, first = sum(column), column[0]
            for tensor in got:
                assert torch.equal(tensor, expected), (
                    f"{len(column)} tensors of the type {first.dtype} and the shape "
                    f"{tuple(first.shape)} add up to {expected.tolist()}, and one becomes "
                    f"{tensor.tolist()}"
                )
            assert apart, "after all_reduce two tensors share memory: to change one changes both"
