"""Checks of start_here: the mean over the ranks."""

from course.checks.engine.hint import hint
from course.checks.lab_00 import on_rank_start_here as on_rank


class TestStartHere:
    """The mean over the ranks."""

    @hint("A mean is a sum divided by a count. How many numbers were added up?")
    def test_mean(self, ranks):
        """The mean is right on every rank: of 2 and 4, and of 2, 4 and 6."""
        for world_size in (2, 3):
            for rank, number in enumerate(ranks(world_size, on_rank.mean)):
                assert number == world_size + 1, f"{world_size} ranks: rank {rank} has {number:g}"
