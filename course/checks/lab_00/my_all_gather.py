"""Checks of my_all_gather: all-gather made of broadcasts."""

from course.checks.lab_00 import on_rank_my_all_gather as on_rank
from course.checks.lab_00.any_collective import (
    ENDS,
    every_kind_is_right,
    no_loose_ends,
    one_message_per_rank,
)
from course.checks.tools.hint import hint


class TestMyAllGather:
    """All-gather made of broadcasts."""

    @hint("Is every rank the source of one broadcast? And what is in its place before it sends?")
    def test_numbers(self, ranks):
        """Every rank's tensor is in its place on every rank (1, 2 and 3 ranks, several shapes and
        dtypes).
        """
        every_kind_is_right(ranks, on_rank.kinds)

    @hint("`received[i] = ...` changes the list, but `received[i].copy_(...)` changes the tensor.")
    def test_in_place(self, ranks):
        """It fills the caller's memory, here the rows of one tensor, and leaves the given tensor
        alone.
        """
        for rank, (filled, unchanged) in enumerate(ranks(3, on_rank.in_place)):
            assert filled, f"rank {rank}: the tensor whose rows are `received` is not filled"
            assert unchanged, f"rank {rank}: `mine` has changed"

    @hint(
        "A column is a view with gaps between its numbers. `copy_` steps over the gaps; "
        "code that reads memory by address does not."
    )
    def test_columns(self, ranks):
        """A column of a matrix arrives like any other tensor."""
        assert all(ranks(2, on_rank.columns)), "a column of a matrix arrives with other numbers"

    @hint("Does something of the first call survive until the second?")
    def test_twice(self, ranks):
        """A second call with other numbers gives the second numbers."""
        assert all(ranks(2, on_rank.twice)), (
            "after a second call the first call's numbers are still there"
        )

    @hint("How many sources are there? Each needs one broadcast, of its own tensor.")
    def test_messages(self, ranks):
        """It takes one broadcast per rank, each the size of one rank's tensor."""
        one_message_per_rank(ranks, on_rank.calls, "broadcast")

    @hint("The check takes all other collectives away. Can you do it with broadcasts alone?")
    def test_only_broadcast(self, ranks):
        """Nothing but broadcast moves the data."""
        ranks(2, on_rank.with_broadcast_only)

    @hint(ENDS)
    def test_loose_ends(self, ranks):
        """Every message is waited for, and many calls leave no process groups or tensors behind."""
        no_loose_ends(ranks, on_rank.loose_ends)
