"""The checks that every sharded model of lab 10 must pass."""

from collections.abc import Callable

from course.checks.lab_10 import on_rank_sharding as on_rank
from course.checks.runner.catalogue import exercise_of
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, OPTIMIZERS, furthest, train_alone


def compare(trained: list[dict], world_size: int, passes: int = 1) -> None:
    """Three steps give the weights of three steps of one process on the whole batch."""
    for rank, by_case in enumerate(trained):
        for (kind, optimizer), got in by_case.items():
            off = furthest(got, train_alone(kind, optimizer, 3, world_size, passes))
            assert off < CLOSE, (
                f"{world_size} ranks, {optimizer}, {kind} model: after 3 steps "
                f"rank {rank}'s weights are off by {off:.2g}"
            )


class AnySharded:
    """The checks of an exercise that shards a model layer by layer."""

    def compare(
        self, ranks: Callable, world_size: int, cases: list[on_rank.Case], passes: int = 1
    ) -> None:
        """Train these cases on ranks, and compare with one process."""
        trained = ranks(world_size, on_rank.train, exercise_of(self), cases, passes=passes)
        compare(trained, world_size, passes)

    @hint(
        "Follow one number: its gradient, its place in the shard, its way back into the layer. "
        "Is it the average of all ranks? A count of your own must start again for each backward."
    )
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch, for SGD, momentum and
        AdamW (2 to 4 ranks).
        """
        for world_size in (2, 3, 4):
            self.compare(ranks, world_size, [("plain", name) for name in OPTIMIZERS])

    @hint("Each trained parameter is in one unit; a frozen one is in none, and has no gradient.")
    def test_tied_and_frozen(self, ranks):
        """Tied parameters are trained once, frozen ones are left alone."""
        self.compare(ranks, 2, [("tied", "AdamW"), ("frozen", "SGD")])

    @hint("A second backward before the update adds its part to the gradient of the shard.")
    def test_accumulation(self, ranks):
        """The gradients of three backward passes add up to one update."""
        self.compare(ranks, 2, [("plain", "SGD")], passes=3)

    @hint("With one rank there is one part, and it is everything.")
    def test_one_rank(self, ranks):
        """It works on one rank too."""
        self.compare(ranks, 1, [("plain", "SGD")])

    @hint("Once a gradient is in its owner's shard, no rank needs the whole one: set it to None.")
    def test_gradients_are_freed(self, ranks):
        """After backward no parameter has a whole gradient any more."""
        for rank, left in enumerate(ranks(2, on_rank.gradients_left, exercise_of(self))):
            assert not left, f"rank {rank} still holds the whole gradients of {left} parameters"

    @hint("What refers to a tensor keeps its memory: an attribute, a list, a hook, a view.")
    def test_memory(self, ranks):
        """After four steps nothing is left in memory but what must be there."""
        for rank, (alive, needed) in enumerate(ranks(2, on_rank.memory, exercise_of(self))):
            assert alive <= needed, (
                f"after four steps, {alive} bytes are alive on rank {rank}; its shards, their "
                f"gradients and the optimizer state need {needed}"
            )
