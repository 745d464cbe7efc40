"""Checks of `mirrored`, exercise 1 of lab 07."""

import functools

import torch

from course.checks.engine.hint import hint
from course.checks.lab_07 import on_rank_mirrored as on_rank
from course.checks.lab_07.any_synchronous import AnySynchronous
from course.checks.lab_07.on_rank_strategy import train


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
        """The replicas take their steps at the same time."""
        (met,) = ranks(1, on_rank.at_once, 3)
        assert met, "a replica begins only when another has ended"
