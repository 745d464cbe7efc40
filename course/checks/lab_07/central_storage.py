"""Checks of `central_storage`, exercise 2 of lab 07."""

import functools

from course.checks.lab_07 import on_rank_central_storage as on_rank
from course.checks.lab_07.any_synchronous import AnySynchronous
from course.checks.lab_07.on_rank_strategy import train
from course.checks.tools.hint import hint


class TestCentralStorage(AnySynchronous):
    """Exercise 2: the variables in one place."""

    def trained(self, ranks, replicas: int, runs: list[tuple]) -> list:
        """All replicas are in one process."""
        return ranks(1, train, functools.partial(on_rank.make, replicas), runs)

    @hint(
        "The optimizer holds the parameters that were made in the scope. Are these the tensors "
        "that your step changes?"
    )
    def test_one_set(self, ranks):
        """The variables made in the scope are the ones that are trained, and the replicas hold
        copies of their own.
        """
        moved, apart = ranks(1, on_rank.kept, 2)[0]
        assert moved, "after a step the model made in the scope still has its first weights"
        assert apart, "a replica shares its memory with the centre or with another replica"

    @hint(
        "Send out what is at the centre now, not what was there at the start. Does a model have "
        "more than weights?"
    )
    def test_sends_out(self, ranks):
        """In every step the replicas see the variables and buffers as they are at the centre."""
        seen = ranks(1, on_rank.changed_at_the_centre, 3)[0]
        assert seen == [2.0] * 9, (
            "a weight, a buffer and a buffer of whole numbers were set to 2 at the centre; "
            f"the three replicas see {seen}"
        )
