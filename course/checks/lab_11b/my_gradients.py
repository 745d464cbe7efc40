"""Checks of my_gradients: what the ranks of a mesh do with their gradients before a step."""

from collections.abc import Callable

from course.checks.lab_11b import on_rank_gradients as on_rank
from course.checks.runner.outcomes import Undecided
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestMyGradients:
    """Exercise 2: the gradients of one process, and their norm, on a mesh."""

    def combined(self, ranks: Callable, *mesh: int) -> None:
        """Hold the gradients of every rank to its shares of those of one process."""
        data, pipeline, tensor = mesh
        for rank, wrong in enumerate(ranks(data * pipeline * tensor, on_rank.combined, mesh)):
            for name, off in wrong.items():
                assert off < CLOSE, (
                    f"mesh of {data} x {pipeline} x {tensor}, rank {rank}: the gradient of {name} "
                    f"is off by {off:.2g}"
                )

    @hint(
        "The table is used twice in the model: what is its gradient, if two parts of it are known?"
    )
    def test_tied(self, ranks):
        """Both ends of a pipeline have the whole gradient of the table, and no other changes."""
        self.combined(ranks, 1, 1, 2)
        self.combined(ranks, 1, 2, 2)
        self.combined(ranks, 1, 4, 1)

    @hint("Each replica has the mean over its own samples: what is the mean over all of them?")
    def test_replicas(self, ranks):
        """Replicas have the average of their gradients."""
        self.combined(ranks, 2, 1, 1)
        self.combined(ranks, 2, 2, 1)

    def off(self, ranks: Callable, *mesh: int) -> str:
        """On which rank the norm is not that of one process, in words; "" if it is on all."""
        data, pipeline, tensor = mesh
        for rank, (got, wanted) in enumerate(ranks(data * pipeline * tensor, on_rank.norms, mesh)):
            if not abs(got - wanted) < CLOSE * wanted:
                return (
                    f"mesh of {data} x {pipeline} x {tensor}, rank {rank}: the norm is {got:.6g}, "
                    f"that of one process {wanted:.6g}"
                )
        return ""

    def norms(self, ranks: Callable, *mesh: int) -> None:
        """Hold the norm of every rank to that of one process."""
        off = self.off(ranks, *mesh)
        assert not off, off

    def where_layers_are_split(self, ranks: Callable, *mesh: int) -> None:
        """The same, but nothing is judged if the norm is wrong with split layers alone."""
        if self.off(ranks, 1, 1, 2):
            raise Undecided("first, the norm must be right where ranks share layers")
        self.norms(ranks, *mesh)

    @hint(
        "Too large: layer norms and the biases of row layers are whole on every rank, so how often "
        "do they count? Too small: which part of a split weight is on another rank?"
    )
    def test_norm_of_split_layers(self, ranks):
        """Where ranks share layers, the norm is that of one process."""
        self.norms(ranks, 1, 1, 1)
        self.norms(ranks, 1, 1, 2)

    @hint(
        "Each stage sees its own parameters only. And which of them does another stage have, too?"
    )
    def test_norm_of_a_pipeline(self, ranks):
        """Where stages share the blocks, every stage has the norm of one process."""
        self.norms(ranks, 1, 2, 1)
        self.where_layers_are_split(ranks, 1, 2, 2)

    @hint("After `combine`, do replicas have different gradients, or the same ones?")
    def test_norm_of_replicas(self, ranks):
        """Replicas do not change the norm."""
        self.norms(ranks, 2, 1, 1)
        self.where_layers_are_split(ranks, 2, 1, 2)
