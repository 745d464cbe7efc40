"""The checks that every replica of labs 03 and 03b must pass, whenever it communicates."""

import math
from collections.abc import Callable, Iterator

import torch

from course.checks.lab_03 import on_rank_replica as on_rank
from course.checks.runner.catalogue import exercise_of
from course.checks.tools.hint import hint
from course.checks.tools.recorder import Call
from course.checks.tools.reference import CLOSE, OPTIMIZERS, Small, furthest, train_alone


class AnyReplica:
    """The checks of an exercise whose classes `wrappers` make a model a replica."""

    wrappers: tuple[str, ...]

    def results(
        self, ranks: Callable, world_size: int, function: Callable, *args: object, **kwargs: object
    ) -> Iterator[tuple[str, list]]:
        """(name of the class, results by rank) of a function, all from one set of ranks."""
        call = on_rank.by_class, exercise_of(self), self.wrappers, function
        by_rank = ranks(world_size, *call, *args, **kwargs)
        for name in self.wrappers:
            yield name, [results[name] for results in by_rank]

    def compare_training(
        self, ranks: Callable, world_size: int, kinds, optimizers, passes: int = 1
    ) -> None:
        """Three steps give the weights of three steps of one process on the whole batch."""
        for name, by_rank in self.results(
            ranks, world_size, on_rank.train, kinds, optimizers, passes
        ):
            for rank, trained in enumerate(by_rank):
                for (kind, optimizer), got in trained.items():
                    expected = train_alone(kind, optimizer, 3, world_size, passes)
                    assert furthest(got, expected) < CLOSE, (
                        f"{name}, {world_size} ranks, {optimizer}, {kind} model: "
                        f"after 3 steps rank {rank}'s weights "
                        f"are off by {furthest(got, expected):.2g}"
                    )

    def compare_messages(self, ranks: Callable, *in_one: str) -> None:
        """The gradients and flags of what is trained travel once: all together in the classes
        `in_one`, in a message for each parameter in the others.
        """
        for kind in ("plain", "frozen"):
            model = Small(seed=0, kind=kind)
            sizes = [p.numel() for p in model.parameters() if p.requires_grad]
            for name, sent in self.results(ranks, 2, on_rank.messages, kind=kind):
                what = f"{name}, {kind} model"
                self._compare_calls(what, sent[0], sizes, 1 if name in in_one else len(sizes))

    def _compare_calls(self, name: str, calls: list[Call], sizes: list[int], expected: int) -> None:
        assert len(calls) == expected, (
            f"{name}: {len(calls)} messages for {len(sizes)} trained parameters, not {expected}"
        )
        others = {call.name for call in calls} - {"all_reduce"}
        assert not others, f"{name}: the messages are sent with {', '.join(others)}"
        numbers = sum(call.elements for call in calls)
        assert numbers <= sum(sizes) + 2 * len(sizes), (
            f"{name}: {numbers} numbers are sent for {sum(sizes)} gradients "
            f"of {len(sizes)} parameters"
        )

    @hint("Which operation does all_reduce apply by default, and what is missing for an average?")
    def test_average(self, ranks):
        """After finish(), every gradient is the average over the ranks (2 and 3 ranks)."""
        for world_size in (2, 3):
            for name, off in self.results(ranks, world_size, on_rank.averages):
                assert max(off) < CLOSE, (
                    f"{name}, {world_size} ranks: a gradient is off by {max(off):.2g} "
                    "of the largest"
                )

    @hint("Do your messages have the gradients' own dtype, and their values as they are?")
    def test_values(self, ranks):
        """Gradients of float64 keep their precision, large ones their size, and all ranks see an
        infinite one.
        """
        for what, dtype, factor, allowed in (
            ("float64", torch.float64, 1.0, 1e-12),
            ("large", torch.float32, 1e6, CLOSE),
            ("infinite", torch.float32, math.inf, CLOSE),
        ):
            for name, off in self.results(ranks, 2, on_rank.averages, dtype, factor):
                assert max(off) < allowed, (
                    f"{name}, {what} gradients: one is off by {max(off):.2g} of the largest"
                )

    @hint("What do you keep of a step when the next one begins?")
    def test_leaves_nothing(self, ranks):
        """A step leaves no tensors in memory that the one before did not, and no process group."""
        for name, left in self.results(ranks, 2, on_rank.left_behind):
            tensors, groups = left[0]
            assert tensors == 0, f"{name}: ten steps leave {tensors} more tensors in memory"
            assert groups == 0, f"{name}: ten steps leave {groups} more process groups"

    @hint("Compare your gradients of the second step: does anything survive from the first?")
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch, for SGD, momentum and
        AdamW.
        """
        self.compare_training(ranks, 2, ("plain",), tuple(OPTIMIZERS))

    @hint(
        "A frozen parameter has no gradient at all; "
        "a tied one has a single gradient for both its uses."
    )
    def test_tied_and_frozen(self, ranks):
        """Tied parameters are averaged once, frozen ones are left alone."""
        self.compare_training(ranks, 2, ("tied", "frozen"), ("SGD",))

    @hint(
        "`pack` writes a flag for each parameter and `unpack` reads it: "
        "do both see every parameter?"
    )
    def test_unused(self, ranks):
        """A parameter unused on one rank counts as zero there; unused on all, it keeps no
        gradient.
        """
        for name, results in self.results(ranks, 2, on_rank.unused):
            off = max(off for off, _ in results)
            assert off < CLOSE, (
                f"{name}: with unused parameters the weights differ from torch's DDP by {off:.2g}"
            )
            assert all(intact for _, intact in results), (
                f"{name}: a parameter that no rank used has got a gradient"
            )

    @hint(
        "The mean of the ranks' means is what DDP computes too, "
        "even where their batches differ in size."
    )
    def test_uneven_batches(self, ranks):
        """With batches of different sizes the result is torch's DDP's."""
        for name, off in self.results(ranks, 2, on_rank.uneven):
            assert max(off) < CLOSE, (
                f"{name}: the weights differ from torch's DDP by {max(off):.2g}"
            )

    @hint("Gradients add up by themselves; which backward of the group should communicate?")
    def test_accumulation(self, ranks):
        """Within no_sync() nothing is sent, and gradients of three passes add up to one update."""
        for name, sent in self.results(ranks, 2, on_rank.messages, quiet=True):
            assert not sent[0], f"{name}: {len(sent[0])} messages within no_sync()"
        self.compare_training(ranks, 2, ("plain",), ("SGD",), passes=3)

    @hint("With one rank, the average of the gradients is the gradient itself.")
    def test_one_rank(self, ranks):
        """It works on one rank too."""
        self.compare_training(ranks, 1, ("plain",), ("SGD",))

    @hint("Write the communication yourself.")
    def test_own_work(self, ranks):
        """It does not hand the work to torch's own DistributedDataParallel."""
        for name, off in self.results(ranks, 2, on_rank.without_library):
            assert max(off) < CLOSE, f"{name}: a gradient is off by {max(off):.2g}"
