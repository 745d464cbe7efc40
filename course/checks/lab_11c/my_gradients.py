"""Checks of my_gradients: what the ranks of a mesh do with their gradients before a step."""

from collections.abc import Callable

from course.checks.lab_11c import on_rank_gradients as on_rank
from course.checks.tools.hint import Failure, Undecided, hint
from course.checks.tools.reference import CLOSE

ALONE, SPLIT = (1, 1, 1), (1, 1, 4)
TIED = (
    "The table is used twice in the model: what is its gradient, if two parts of it are known? "
    "And where `ends` is None, a collective would take it for all ranks."
)
NOT_TIED = (
    "With one replica, all gradients but those of the table are right before `combine`: "
    "what else does it change?"
)
COUNT_ONCE = (
    "The norm is the root of the sum of all squares. In one process each parameter counts once, "
    "the table too."
)
TOGETHER = (
    "It is right where ranks only share layers: does each sum go over the group that is meant, and "
    "is each rank number the one in that group?"
)
ON = {ALONE: "in one process", SPLIT: "where ranks share layers"}


class TestMyGradients:
    """Exercise 1: the gradients of one process, and their norm, on a mesh."""

    def off(self, ranks: Callable, *mesh: int, forget_tied: bool = False) -> str:
        """On which rank `combine` does not leave the gradients of one process, in words, or "".

        The table comes last, so that it is named only where it alone is wrong.
        """
        data, pipeline, tensor = mesh
        where = f"mesh of {data} x {pipeline} x {tensor}"
        if forget_tied:
            where += ", no rank shares its `ends`"
        results = ranks(data * pipeline * tensor, on_rank.combined, mesh, forget_tied)
        for rank, wrong in enumerate(results):
            for name in sorted(wrong, key="table".__eq__):
                if not wrong[name] < CLOSE:
                    return (
                        f"{where}, rank {rank}: the gradient of {name} is off by {wrong[name]:.2g}"
                    )
        return ""

    @hint(TIED)
    def test_tied(self, ranks):
        """Both ends of a pipeline have the whole gradient of the table, and no other changes. If
        `ends` is this rank alone, none changes.
        """
        for mesh in (1, 1, 2), (1, 2, 2), (1, 4, 1):
            if off := self.off(ranks, *mesh):
                raise Failure(off, TIED if " table " in off else NOT_TIED)
        off = self.off(ranks, 1, 2, 1, forget_tied=True)
        assert not off, off

    @hint("Each replica has the mean over its own samples: what is the mean over all of them?")
    def test_replicas(self, ranks):
        """Replicas have the average of their gradients."""
        for mesh in (3, 1, 1), (2, 2, 1):
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
            if after == SPLIT:
                raise Failure(off, TOGETHER)
            raise AssertionError(off)

    @hint(
        "Too large: layer norms and the biases of row layers are whole on every rank, so how often "
        "do they count? Too small: which part of a split weight is on another rank?"
    )
    def test_norm_of_split_layers(self, ranks):
        """Where ranks share layers, the norm is that of one process."""
        if off := self.norm_off(ranks, *ALONE):
            raise Failure(off, COUNT_ONCE)
        off = self.norm_off(ranks, *SPLIT)
        assert not off, off

    @hint("The optimizer steps with these gradients. What may only be in your sum of squares?")
    def test_norm_changes_nothing(self, ranks):
        """global_norm() leaves the gradients as they are."""
        for rank, (_, _, changed) in enumerate(ranks(4, on_rank.norms, (1, 2, 2))):
            assert not changed, f"mesh of 1 x 2 x 2, rank {rank}: it changes that of {changed[0]}"

    @hint(
        "Each stage sees its own parameters only. Too large: which of them does another stage "
        "have, too? Too small: how many stages have those?"
    )
    def test_norm_of_a_pipeline(self, ranks):
        """Where stages share the blocks, every stage has the norm of one process."""
        self.norm(ranks, 1, 4, 1, after=ALONE)
        self.norm(ranks, 1, 2, 2, after=SPLIT)

    @hint("After `combine`, do replicas have different gradients, or the same ones?")
    def test_norm_of_replicas(self, ranks):
        """Replicas do not change the norm."""
        self.norm(ranks, 2, 1, 1, after=ALONE)
        self.norm(ranks, 2, 1, 2, after=SPLIT)

    @hint("NCCL sends only what is on a GPU: which tensors do you send, and where are they?")
    def test_gpus(self, ranks):
        """On GPUs, all that the ranks send is on the GPU of the gradients (pretended ones here)."""
        for got, expected in ranks(2, on_rank.norm_on_gpus, join=False):
            if not abs(got - expected) < CLOSE * expected:
                raise Undecided("first, gradients and norm must be right on the CPU")
