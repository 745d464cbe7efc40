"""Checks of `multi_worker`, exercise 3 of lab 07."""

import torch

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE, furthest
from course.checks.lab_07 import on_rank_multi_worker as on_rank
from course.checks.lab_07.any_reference import in_one_process
from course.checks.lab_07.any_synchronous import AnySynchronous
from course.checks.lab_07.on_rank_strategy import train
from course.checks.lab_07.on_rank_training import loader


class TestMultiWorker(AnySynchronous):
    """Exercise 3: a process for each replica."""

    def trained(self, ranks, replicas: int, runs: list[tuple]) -> list:
        """Each replica is a rank."""
        return ranks(replicas, train, on_rank.make, runs)

    @hint("a model holds more than its parameters: look at `state_dict()`")
    def test_same_start(self, ranks):
        """Every worker starts with the variables and buffers of rank 0."""
        wanted = in_one_process("plain", "SGD", ())
        for rank, ((copy,),) in enumerate(self.trained(ranks, 3, [("plain", "SGD", ())])):
            off = furthest(copy, wanted)
            assert off == 0, (
                f"rank {rank} starts with variables that differ from rank 0's by {off:.2g}"
            )

    @hint("`split` has the shares of all workers; which one is yours?")
    def test_shares(self, ranks):
        """Of each batch every sample goes to one worker, and each share knows the size
        of the whole.
        """
        sizes = (7, 6)
        by_rank = ranks(3, on_rank.dealt, sizes)
        for number, (inputs, _) in enumerate(loader(sizes)):
            assert all(len(dealt) == len(sizes) for dealt in by_rank), (
                "the workers take different numbers of steps"
            )
            parts, wholes = zip(*(dealt[number] for dealt in by_rank), strict=True)
            drawn = [len(part) for part in parts]
            assert max(drawn) - min(drawn) <= 1, (
                f"the shares of a batch of {len(inputs)} have sizes {drawn}"
            )
            assert torch.equal(torch.cat(parts), inputs), (
                f"together the shares are not the batch of {len(inputs)}"
            )
            assert set(wholes) == {len(inputs)}, (
                f"shares of a batch of {len(inputs)} say it has {wholes}"
            )

    @hint("one torch.cat, one all_reduce")
    def test_one_message(self, ranks):
        """A step sends one message, as long as the gradients and the buffers."""
        for sent, length in ranks(2, on_rank.messages):
            assert len(sent) == 1, f"a step sends {len(sent)} messages"
            assert sent[0].elements == length, (
                f"the message has {sent[0].elements} numbers for {length} gradients and buffers"
            )

    @hint("every worker needs the result, and the mean is over `num_replicas_in_sync`")
    def test_reduce(self, ranks):
        """reduce() gives every worker the sum, or the mean, over all of them."""
        for rank, (total, mean, count) in enumerate(ranks(3, on_rank.reduced)):
            assert (total, mean) == (6, 2), (
                f"of 1, 2 and 3 rank {rank} gets the sum {total:g} and the mean {mean:g}"
            )
            assert count == 3, f"3 workers are {count} replicas in sync"

    @hint("write the communication yourself")
    def test_own_work(self, ranks):
        """It does not hand the work to torch's own DistributedDataParallel."""
        wanted = in_one_process("plain", "SGD", (6,))
        off = max(furthest(copy, wanted) for copy in ranks(2, on_rank.without_library))
        assert off < CLOSE, f"the weights are off by {off:.2g}"
