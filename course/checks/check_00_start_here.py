"""Checks of lab 00: the smallest exercise."""

import importlib

import torch
import torch.distributed as dist

from course.checks.exercises import hint


def mean() -> float:
    """What the learner's function makes of 2, 4, 6, ... on this rank."""
    number = torch.tensor([2.0 * (dist.get_rank() + 1)])
    importlib.import_module("start_here").mean_of_ranks(number)
    return number.item()


class TestStartHere:
    """The mean over the ranks."""

    exercise = "start_here"

    @hint("how many numbers were added up?")
    def test_mean(self, ranks):
        """The mean of 2, 4 and of 2, 4, 6 is right on every rank."""
        for world_size in (2, 3):
            for rank, number in enumerate(ranks(world_size, mean)):
                assert number == world_size + 1, f"{world_size} ranks: rank {rank} has {number:g}"
