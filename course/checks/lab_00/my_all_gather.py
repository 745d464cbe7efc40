"""Checks of my_all_gather: all-gather made of broadcasts."""

from course.checks.engine.hint import hint
from course.checks.lab_00 import on_rank_my_all_gather as on_rank
from course.checks.lab_00.any_collective import every_kind_is_right, one_message_per_rank


class TestMyAllGather:
    """All-gather made of broadcasts."""

    @hint("is every rank the source once, and does what it sends lie in its own place first?")
    def test_numbers(self, ranks):
        """Every rank's tensor is in its place on every rank (1, 2 and 3 ranks, several shapes and
        dtypes).
        """
        every_kind_is_right(ranks, on_rank.kinds)

    @hint("`received[i] = ...` changes the list; `received[i].copy_(...)` changes the tensor")
    def test_in_place(self, ranks):
        """It fills the caller's memory, here the rows of one tensor, and leaves the given tensor
        alone.
        """
        for rank, (filled, unchanged) in enumerate(ranks(3, on_rank.in_place)):
            assert filled, f"rank {rank}: the tensor whose rows are `received` is not filled"
            assert unchanged, f"rank {rank}: `mine` has changed"

    @hint(
        "a view may have gaps between its numbers; copy_ knows how to step over them, "
        "`.data_ptr()` and friends do not"
    )
    def test_columns(self, ranks):
        """A column of a matrix arrives like any other tensor."""
        assert all(ranks(2, on_rank.columns)), "a column of a matrix arrives with other numbers"

    @hint("does anything survive from the first call?")
    def test_twice(self, ranks):
        """A second call with other numbers gives the second numbers."""
        assert all(ranks(2, on_rank.twice)), (
            "after a second call the first call's numbers are still there"
        )

    @hint("one broadcast for each source is enough, and each carries one rank's tensor")
    def test_messages(self, ranks):
        """It takes one broadcast a rank, each the size of one rank's tensor."""
        one_message_per_rank(ranks, on_rank.calls, "broadcast")

    @hint("the other collectives are taken away: only broadcast is left")
    def test_only_broadcast(self, ranks):
        """Nothing but broadcast moves the data."""
        ranks(2, on_rank.with_broadcast_only)
