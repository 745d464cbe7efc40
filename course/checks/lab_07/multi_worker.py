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

    @hint("A model holds more than its parameters. What does `state_dict()` list?")
    def test_same_start(self, ranks):
        """Every worker starts with the variables and buffers of rank 0."""
        wanted = in_one_process("plain", "SGD", ())
        for rank, ((copy,),) in enumerate(self.trained(ranks, 3, [("plain", "SGD", ())])):
            off = furthest(copy, wanted)
            assert off == 0, (
                f"rank {rank} starts with variables that differ from rank 0's by {off:.2g}"
            )

    @hint("`split` returns the shares of all workers. Which one belongs to this rank?")
    def test_shares(self, ranks):
        """Every sample of a batch goes to one worker, and each share knows the size of the whole
        batch.
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
                f"joined in the order of the ranks, the shares are not the batch of {len(inputs)}"
            )
            assert set(wholes) == {len(inputs)}, (
                f"shares of a batch of {len(inputs)} say it has {wholes}"
            )

    @hint("Join all tensors into one before you send anything. Which torch function does that?")
    def test_one_message(self, ranks):
        """A step sends one message, as long as the gradients and the buffers."""
        for sent, length in ranks(2, on_rank.messages):
            assert len(sent) == 1, f"a step sends {len(sent)} messages"
            assert sent[0].elements == length, (
                f"the message has {sent[0].elements} numbers for {length} gradients and buffers"
            )

    @hint("The idea is to write the communication yourself, with `torch.distributed`.")
    def test_own_work(self, ranks):
        """It does not hand the work to torch's own DistributedDataParallel."""
        wanted = in_one_process("plain", "SGD", (6,))
        off = max(furthest(copy, wanted) for copy in ranks(2, on_rank.without_library))
        assert off < CLOSE, f"the weights are off by {off:.2g}"
