"""Checks of my_ddp: DDP written by hand, with communication after backward."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import Small, furthest, weights
from course.checks.lab_03 import on_rank_replica as on_rank
from course.checks.lab_03.any_replica import AnyReplica


class TestMyDdp(AnyReplica):
    """Exercise 2: communication after backward."""

    wrappers = ("AfterBackward", "Flat")

    @hint("parameters are not all that a model holds: look at `buffers()`")
    def test_same_start(self, ranks):
        """After construction every rank has rank 0's parameters and buffers."""
        for name, by_rank in self.each(ranks, 3, on_rank.start):
            for rank, got in enumerate(by_rank):
                off = furthest(got, weights(on_rank.to_start(0)))
                assert off == 0, (
                    f"{name}: rank {rank} starts with weights that differ "
                    f"from rank 0's by {off:.2g}"
                )

    @hint("how many messages does AfterBackward send for ten parameters, and Flat?")
    def test_messages(self, ranks):
        """AfterBackward sends one message per parameter, Flat sends one in all."""
        parameters = len(list(Small(seed=0).parameters()))
        for name, sent in self.each(ranks, 2, on_rank.messages):
            self.compare_messages(name, sent[0], 1 if name == "Flat" else parameters)
