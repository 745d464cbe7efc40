"""The checks that both collectives of lab 00 must pass, however they are built."""

from collections.abc import Callable

from course.checks.tools.loose_ends import undecided_where_wrong
from course.core import words

# The hint of the check for loose ends.
ENDS = (
    "An asynchronous call gives you a handle: wait for every one before you read. "
    "And what does each call make that it never gives back?"
)


def every_kind_is_right(ranks: Callable, function: Callable) -> None:
    """With 3, 2 and 1 ranks, every shape and dtype is right on every rank."""
    for world_size in (3, 2, 1):
        for rank, kinds in enumerate(ranks(world_size, function)):
            wrong = [kind for kind, right in kinds if not right]
            assert not wrong, (
                f"{words.plural(world_size, 'rank')}, {wrong[0]}: "
                f"rank {rank} does not have the right numbers"
            )


def one_message_per_rank(ranks: Callable, function: Callable, name: str) -> None:
    """A call on three ranks makes three calls of `name`, each with one tensor of 3 numbers.

    The numbers are of a 16-bit dtype, so they take 6 bytes.
    """
    for calls in ranks(3, function):
        names = [call.name for call in calls]
        assert names == [name] * 3, f"3 ranks: the calls are {', '.join(names) or 'none'}"
        sizes = [call.nbytes for call in calls]
        assert sizes == [6] * 3, (
            f"tensors of 3 bfloat16 numbers have 6 bytes; the messages have {sizes}"
        )


def no_loose_ends(ranks: Callable, function: Callable) -> None:
    """On two ranks nothing is left undone or behind."""
    by_rank = ranks(2, function)
    undecided_where_wrong(by_rank)
    for rank, loose_end in enumerate(by_rank):
        assert not loose_end, f"rank {rank}: {loose_end}"
