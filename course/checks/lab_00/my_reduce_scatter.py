"""Checks of my_reduce_scatter: reduce-scatter made of reduces."""

from course.checks.engine.hint import hint
from course.checks.lab_00 import on_rank_my_reduce_scatter as on_rank
from course.checks.lab_00.any_collective import every_kind_is_right, one_message_per_rank


class TestMyReduceScatter:
    """Reduce-scatter made of reduces."""

    @hint(
        "A reduce leaves the sum at its destination, and something undefined elsewhere. "
        "Which of these do you keep?"
    )
    def test_sums(self, ranks):
        """Each rank has the sum of its own part (1, 2 and 3 ranks, several shapes and dtypes)."""
        every_kind_is_right(ranks, on_rank.kinds)

    @hint(
        "A reduce writes into the tensor that you pass, on every rank. "
        "And does `result = ...` fill a tensor, or name another one?"
    )
    def test_in_place(self, ranks):
        """It fills the caller's memory, a row of a larger tensor, and leaves the parts as they
        are.
        """
        for rank, (filled, unchanged) in enumerate(ranks(3, on_rank.in_place)):
            assert filled, (
                f"rank {rank}: the memory in which `result` is a row is not filled as it should be"
            )
            assert unchanged, f"rank {rank}: `parts` has changed"

    @hint("Does your reduce know which operation the caller asked for?")
    def test_largest(self, ranks):
        """With `op=MAX` each rank has the maximum."""
        right = ranks(3, on_rank.largest)
        assert all(right), f"rank {right.index(False)} does not have the maximum"

    @hint("How many destinations are there? Each needs one reduce, of one part.")
    def test_messages(self, ranks):
        """It takes one reduce per rank, each the size of one part."""
        one_message_per_rank(ranks, on_rank.calls, "reduce")

    @hint("The check takes all other collectives away. Can you do it with reduces alone?")
    def test_only_reduce(self, ranks):
        """Nothing but reduce moves the data."""
        ranks(2, on_rank.with_reduce_only)
