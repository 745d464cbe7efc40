"""Checks of my_ddp: DDP written by hand, with communication after backward."""

from course.checks.lab_03 import on_rank_replica as on_rank
from course.checks.lab_03.any_replica import AnyReplica
from course.checks.tools.hint import hint
from course.checks.tools.reference import furthest, weights


class TestMyDdp(AnyReplica):
    """Exercise 2: communication after backward."""

    wrappers = ("AfterBackward", "Flat")

    @hint("Parameters are not all that a model holds: look at `buffers()`.")
    def test_same_start(self, ranks):
        """After construction every rank has rank 0's parameters and buffers."""
        for name, by_rank in self.results(ranks, 3, on_rank.start):
            for rank, got in enumerate(by_rank):
                off = furthest(got, weights(on_rank.to_start(0)))
                assert off == 0, (
                    f"{name}: rank {rank} starts with weights that differ "
                    f"from rank 0's by {off:.2g}"
                )

    @hint("How many messages does AfterBackward send for ten parameters, and Flat?")
    def test_messages(self, ranks):
        """AfterBackward sends one message per trained parameter, Flat sends one in all."""
        self.compare_messages(ranks, "Flat")

    @hint("`unpack` takes a list: which pairs could it get at once, after the last message?")
    def test_waits_once(self, ranks):
        """A step calls `unpack` once, for all messages together, so it waits for a GPU once."""
        for name, calls in self.results(ranks, 2, on_rank.unpacked):
            assert max(calls) < 2, f"{name}: a step calls `unpack` {max(calls)} times"
