"""Checks of lab 00: the smallest exercise, and two collectives made from others."""

from collections.abc import Callable

from course.checks.engine.catalogue import hint
from course.checks.lab_00 import on_rank as on_rank


def _every_kind(ranks: Callable, world_sizes: tuple[int, ...], function: Callable) -> None:
    """Every shape and dtype is right on every rank of every world size."""
    for world_size in world_sizes:
        for rank, kinds in enumerate(ranks(world_size, function)):
            wrong = [kind for kind, right in kinds if not right]
            assert not wrong, (
                f"{world_size} ranks, {wrong[0]}: rank {rank} has other numbers than it should"
            )


def _messages(ranks: Callable, function: Callable, name: str) -> None:
    """A call on three ranks hands over three messages, each of one tensor's size."""
    for sent in ranks(3, function):
        calls = [call for call, _, _ in sent]
        assert calls == [name] * 3, f"3 ranks: the calls are {', '.join(calls) or 'none'}"
        elements = [size for _, size, _ in sent]
        assert elements == [3] * 3, f"for tensors of 3 elements the messages have {elements}"


class TestStartHere:
    """The mean over the ranks."""

    exercise = "start_here"

    @hint("how many numbers were added up?")
    def test_mean(self, ranks):
        """The mean of 2, 4 and of 2, 4, 6 is right on every rank."""
        for world_size in (2, 3):
            for rank, number in enumerate(ranks(world_size, on_rank.mean)):
                assert number == world_size + 1, f"{world_size} ranks: rank {rank} has {number:g}"


class TestMyAllGather:
    """All-gather made of broadcasts."""

    exercise = "my_all_gather"

    @hint("is every rank the source once, and does what it sends lie in its own place first?")
    def test_numbers(self, ranks):
        """Every rank's tensor is in its place on every rank (1, 2 and 3 ranks, several shapes and dtypes)."""
        _every_kind(ranks, (3, 2, 1), on_rank.gather_shapes)

    @hint("`received[i] = ...` changes the list; `received[i].copy_(...)` changes the tensor")
    def test_in_place(self, ranks):
        """It fills the caller's memory, here the rows of one tensor, and leaves the given tensor alone."""
        for rank, (filled, unchanged) in enumerate(ranks(3, on_rank.gather_in_place)):
            assert filled, f"rank {rank}: the tensor whose rows are `received` is not filled"
            assert unchanged, f"rank {rank}: `mine` has changed"

    @hint(
        "a view may have gaps between its numbers; copy_ knows how to step over them, `.data_ptr()` and friends do not"
    )
    def test_columns(self, ranks):
        """A column of a matrix arrives like any other tensor."""
        assert all(ranks(2, on_rank.gather_columns)), (
            "a column of a matrix arrives with other numbers"
        )

    @hint("does anything survive from the first call?")
    def test_twice(self, ranks):
        """A second call with other numbers gives the second numbers."""
        assert all(ranks(2, on_rank.gather_again)), (
            "after a second call the first call's numbers are still there"
        )

    @hint("one broadcast for each source is enough, and each carries one rank's tensor")
    def test_messages(self, ranks):
        """It takes one broadcast a rank, each the size of one rank's tensor."""
        _messages(ranks, on_rank.gather_messages, "broadcast")

    @hint("the other collectives are taken away: only broadcast is left")
    def test_only_broadcast(self, ranks):
        """Nothing but broadcast moves the data."""
        ranks(2, on_rank.gather_alone)


class TestMyReduceScatter:
    """Reduce-scatter made of reduces."""

    exercise = "my_reduce_scatter"

    @hint(
        "a reduce leaves the sum at its destination and something undefined elsewhere: which of them do you keep?"
    )
    def test_sums(self, ranks):
        """Each rank has the sum of its own part (1, 2 and 3 ranks, several shapes and dtypes)."""
        _every_kind(ranks, (3, 2, 1), on_rank.reduce_shapes)

    @hint(
        "reduce writes into the tensor it is given, on every rank; and `result = ...` only names another tensor"
    )
    def test_in_place(self, ranks):
        """It fills the caller's memory, a row of a larger tensor, and leaves the parts as they are."""
        for rank, (filled, unchanged) in enumerate(ranks(3, on_rank.reduce_in_place)):
            assert filled, (
                f"rank {rank}: the memory that `result` is a row of is not filled as it should be"
            )
            assert unchanged, f"rank {rank}: `parts` has changed"

    @hint("reduce takes the reduction as `op`")
    def test_largest(self, ranks):
        """With `op=MAX` each rank has the maximum."""
        right = ranks(3, on_rank.reduce_largest)
        assert all(right), f"rank {right.index(False)} has not the maximum"

    @hint("one reduce for each destination is enough, and each carries one part")
    def test_messages(self, ranks):
        """It takes one reduce a rank, each the size of one part."""
        _messages(ranks, on_rank.reduce_messages, "reduce")

    @hint("the other collectives are taken away: only reduce is left")
    def test_only_reduce(self, ranks):
        """Nothing but reduce moves the data."""
        ranks(2, on_rank.reduce_alone)
