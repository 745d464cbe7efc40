"""Checks of my_reduce_scatter: reduce-scatter made of reduces."""

from course.checks.lab_00 import on_rank_my_reduce_scatter as on_rank
from course.checks.lab_00.any_collective import (
    ENDS,
    every_kind_is_right,
    no_loose_ends,
    one_message_per_rank,
)
from course.checks.tools.hint import Undecided, hint


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
    def test_operations(self, ranks):
        """With `op` MAX, MIN and PRODUCT each rank has the maximum, the minimum, the product."""
        for rank, operations in enumerate(ranks(3, on_rank.operations)):
            wrong = [name for name, right in operations if not right]
            if "SUM" in wrong:
                raise Undecided("first, the sums must be right: see above")
            assert not wrong, f"with op={wrong[0]} rank {rank} does not have the right numbers"

    @hint("How many destinations are there? Each needs one reduce, of one part.")
    def test_messages(self, ranks):
        """It takes one reduce per rank, each the size of one part."""
        one_message_per_rank(ranks, on_rank.calls, "reduce")

    @hint("The check takes all other collectives away. Can you do it with reduces alone?")
    def test_only_reduce(self, ranks):
        """Nothing but reduce moves the data."""
        ranks(2, on_rank.with_reduce_only)

    @hint(ENDS)
    def test_loose_ends(self, ranks):
        """Every message is waited for, and many calls leave no process groups or tensors behind."""
        no_loose_ends(ranks, on_rank.loose_ends)
