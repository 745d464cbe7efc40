"""Checks of `multi_worker`, exercise 2 of lab 07."""

import math

import torch

from course.checks.lab_07 import on_rank_multi_worker as on_rank
from course.checks.lab_07.any_reference import in_one_process
from course.checks.lab_07.any_synchronous import AnySynchronous
from course.checks.lab_07.on_rank_strategy import train
from course.checks.lab_07.on_rank_training import loader
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, furthest
from course.core import words


class TestMultiWorker(AnySynchronous):
    """Exercise 2: a process for each replica."""

    def trained(self, ranks, replicas: int, runs: list[tuple]) -> list:
        """Each replica is a rank."""
        return ranks(replicas, train, on_rank.make, runs)

    @hint("A model holds more than its parameters. What does `state_dict()` list?")
    def test_same_start(self, ranks):
        """Every worker starts with the variables and buffers of rank 0."""
        expected = in_one_process("counted", "SGD", ())
        for rank, ((copy,),) in enumerate(self.trained(ranks, 3, [("counted", "SGD", ())])):
            off = furthest(copy, expected)
            assert off == 0, (
                f"rank {rank} starts with variables that differ from rank 0's by {off:.2g}"
            )

    @hint("`split` returns the shares of all workers. Which one belongs to this rank?")
    def test_shares(self, ranks):
        """Every sample of a batch goes to one worker, and each share knows the size of the whole
        batch. Of a batch of 2, one worker of 3 gets an empty share, and takes its step, too.
        """
        sizes = (7, 6, 2)
        by_rank = ranks(3, on_rank.dealt, sizes)
        for number, batch in enumerate(loader(sizes)):
            samples = torch.cat(batch, 1)
            assert all(len(dealt) == len(sizes) for dealt in by_rank), (
                "the workers take different numbers of steps"
            )
            parts, wholes = zip(*(dealt[number] for dealt in by_rank), strict=True)
            drawn = [len(part) for part in parts]
            assert max(drawn) == math.ceil(len(samples) / 3), (
                f"the shares of a batch of {len(samples)} have the sizes {drawn}; "
                f"no worker needs more than {math.ceil(len(samples) / 3)}"
            )
            assert sorted(torch.cat(parts).tolist()) == sorted(samples.tolist()), (
                f"together the shares are not the batch of {len(samples)}, "
                "each sample once and with its target"
            )
            assert set(wholes) == {len(samples)}, (
                f"shares of a batch of {len(samples)} say it has {sorted(set(wholes))}"
            )

    @hint("A share has a method `to`. Where does this worker's model lie?")
    def test_device(self, ranks):
        """A worker's share lies on the worker's device."""
        for rank, types in enumerate(ranks(2, on_rank.devices)):
            assert types == {"meta"}, (
                f'on rank {rank}, whose device is "meta", the share lies on {sorted(types)}'
            )

    @hint("Join all tensors into one before you send anything. Which torch function does that?")
    def test_one_message(self, ranks):
        """A step makes one all-reduce, as long as the gradients and the buffers, and no group."""
        for sent, length, groups in ranks(2, on_rank.messages):
            called = [call.name for call in sent]
            assert called == ["all_reduce"], (
                f"to move data a step makes {words.plural(len(called), 'call')} "
                f"({', '.join(sorted(set(called))) or 'none'}) instead of one all_reduce"
            )
            assert sent[0].elements == length, (
                f"the message has {sent[0].elements} numbers for {length} gradients and buffers"
            )
            assert not groups, f"a step makes {words.plural(groups, 'process group')}"

    @hint("The idea is to write the communication yourself, with `torch.distributed`.")
    def test_own_work(self, ranks):
        """It does not hand the work to torch's own DistributedDataParallel."""
        expected = in_one_process("plain", "SGD", (6,))
        off = max(furthest(copy, expected) for copy in ranks(2, on_rank.without_library))
        assert off < CLOSE, f"the weights are off by {off:.2g}"
