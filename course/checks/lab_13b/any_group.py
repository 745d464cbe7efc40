"""What every exercise of lab 13b must do in two groups of two ranks."""

from collections.abc import Sequence

from course.core import words


def stay_in_their_groups(calls_by_rank: Sequence[Sequence[tuple[str, int, Sequence[int]]]]) -> None:
    """Each call (name, elements, its ranks) is one of the rank's own group, {0, 1} or {2, 3}."""
    for rank, calls in enumerate(calls_by_rank):
        first = rank // 2 * 2
        for name, _, members in calls:
            assert set(members) <= {first, first + 1}, (
                f"the group of rank {rank} has the ranks {first} and {first + 1}, but it "
                f"calls {name} for {words.plural(len(members), 'rank')}"
            )
