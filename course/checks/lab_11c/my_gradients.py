"""Checks of my_gradients: what the ranks of a mesh do with their gradients before a step."""

from collections.abc import Callable

from course.checks.lab_11c import on_rank_gradients as on_rank
from course.checks.runner.outcomes import Undecided
from course.checks.tools.hint import Fault, hint
from course.checks.tools.reference import CLOSE

ALONE, SPLIT = (1, 1, 1), (1, 1, 2)
COUNT_ONCE = (
    "The norm is the root of the sum of all squares. In one process each parameter counts once, "
    "the table too."
)
TOO_SMALL = "Too small: is it rank 0 of its `tensor` group that counts for the others?"
ON = {ALONE: "in one process", SPLIT: "where ranks share layers"}


class TestMyGradients:
    """Exercise 1: the gradients of one process, and their norm, on a mesh."""

    def off(self, ranks: Callable, *mesh: int) -> str:
        """On which rank `combine` does not leave the gradients of one process, in words, or ""."""
        data, pipeline, tensor = mesh
        for rank, wrong in enumerate(ranks(data * pipeline * tensor, on_rank.combined, mesh)):
            for name, off in wrong.items():
                if not off < CLOSE:
                    return (
                        f"mesh of {data} x {pipeline} x {tensor}, rank {rank}: the gradient of "
                        f"{name} is off by {off:.2g}"
                    )
        return ""

    @hint(
        "The table is used twice in the model: what is its gradient, if two parts of it are known? "
        "And where `ends` is None, a collective would take it for all ranks."
    )
    def test_tied(self, ranks):
        """Both ends of a pipeline have the whole gradient of the table, and no other changes."""
        for mesh in (1, 1, 2), (1, 2, 2), (1, 4, 1):
            off = self.off(ranks, *mesh)
            assert not off, off

    @hint("Each replica has the mean over its own samples: what is the mean over all of them?")
    def test_replicas(self, ranks):
        """Replicas have the average of their gradients."""
        for mesh in (2, 1, 1), (2, 2, 1):
            if off := self.off(ranks, *mesh):
                if self.off(ranks, 1, *mesh[1:]):
                    raise Undecided("first, one replica must have the right gradients")
                raise AssertionError(off)

    def norm_off(self, ranks: Callable, *mesh: int) -> str:
        """On which rank the norm is not that of one process, in words; "" if it is on all."""
        data, pipeline, tensor = mesh
        results = ranks(data * pipeline * tensor, on_rank.norms, mesh)
        for rank, (got, expected, _) in enumerate(results):
            if not abs(got - expected) < CLOSE * expected:
                return (
                    f"mesh of {data} x {pipeline} x {tensor}, rank {rank}: the norm is {got:.6g}, "
                    f"that of one process {expected:.6g}"
                )
        return ""

    def norm(self, ranks: Callable, *mesh: int, after: tuple[int, int, int]) -> None:
        """Hold the norm of every rank to that of one process.

        Nothing is judged where it is wrong on the smaller mesh `after`, too.
        """
        if off := self.norm_off(ranks, *mesh):
            if self.norm_off(ranks, *after):
                raise Undecided(f"first, the norm must be right {ON[after]}")
            raise AssertionError(off)

    @hint(
        "Too large: layer norms and the biases of row layers are whole on every rank, so how often "
        "do they count? Too small: which part of a split weight is on another rank?"
    )
    def test_norm_of_split_layers(self, ranks):
        """Where ranks share layers, the norm is that of one process."""
        if off := self.norm_off(ranks, *ALONE):
            raise Fault(off, COUNT_ONCE)
        off = self.norm_off(ranks, *SPLIT)
        assert not off, off

    @hint("The optimizer steps with these gradients. What may only be in your sum of squares?")
    def test_norm_changes_nothing(self, ranks):
        """global_norm() leaves the gradients as they are."""
        for rank, (_, _, changed) in enumerate(ranks(4, on_rank.norms, (1, 2, 2))):
            assert not changed, f"mesh of 1 x 2 x 2, rank {rank}: it changes that of {changed[0]}"

    @hint(
        "Each stage sees its own parameters only. Too large: which of them does another stage "
        f"have, too? {TOO_SMALL}"
    )
    def test_norm_of_a_pipeline(self, ranks):
        """Where stages share the blocks, every stage has the norm of one process."""
        self.norm(ranks, 1, 4, 1, after=ALONE)
        self.norm(ranks, 1, 2, 2, after=SPLIT)

    @hint(f"After `combine`, do replicas have different gradients, or the same ones? {TOO_SMALL}")
    def test_norm_of_replicas(self, ranks):
        """Replicas do not change the norm."""
        self.norm(ranks, 2, 1, 1, after=ALONE)
        self.norm(ranks, 2, 1, 2, after=SPLIT)
