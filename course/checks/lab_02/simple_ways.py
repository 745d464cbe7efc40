"""Checks of simple_ways: reduce + broadcast, and all-to-all."""

from course.checks.lab_02 import on_rank_all_reduce as on_rank
from course.checks.lab_02.any_all_reduce import AnyAllReduce
from course.checks.tools.hint import hint


class TestSimpleWays(AnyAllReduce):
    """Exercise 1: reduce + broadcast, and all-to-all."""

    names = ("reduce_broadcast", "all_to_all")

    @hint("Reduce + broadcast: who talks only to rank 0? All-to-all: how many others are there?")
    def test_messages(self, ranks):
        """Whole buffers travel: rank 0 sends N−1 and every other rank one; in all-to-all each
        rank sends N−1 (4 ranks).
        """
        for name, by_rank in self.results(ranks, 4, on_rank.traffic, (10,)):
            for rank, (sent,) in enumerate(by_rank):
                others = [other for other in range(4) if other != rank]
                to = others if rank == 0 or name == "all_to_all" else [0]
                assert sorted(sent) == [(other, 20) for other in to], (
                    f"{name}: for 10 numbers of 2 bytes rank {rank} sends {_listed(sent)}; "
                    f"it should send 20 bytes to each of {to}"
                )


def _listed(sent: list[tuple[int, int]]) -> str:
    return ", ".join(f"{nbytes} bytes to rank {to}" for to, nbytes in sent) or "nothing"
