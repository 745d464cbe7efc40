"""Checks of ring: the ring all-reduce and its two halves."""

import torch

from course.checks.lab_02 import on_rank_ring
from course.checks.lab_02.any_all_reduce import AnyAllReduce, difference
from course.checks.lab_02.on_rank_all_reduce import total, traffic
from course.checks.tools.hint import hint

LENGTHS = (12, 10, 400, 1003)


class TestRing(AnyAllReduce):
    """Exercise 2: the ring."""

    names = ("all_reduce",)

    @hint("Follow one chunk round the ring: how many ranks have added to it after each round?")
    def test_reduce_scatter(self, ranks):
        """After reduce_scatter, chunk (rank + 1) % N is complete on each rank (4 ranks)."""
        expected = total(4, (11,))
        for rank, (flat, starts) in enumerate(ranks(4, on_rank_ring.scattered, 11)):
            chunk = (rank + 1) % 4
            span = slice(starts[chunk], starts[chunk + 1])
            assert torch.equal(flat[span], expected[span]), (
                f"4 ranks: chunk {chunk} is not complete on rank {rank}"
            )

    @hint("A rank sends on what it received in the round before. In this phase nothing is added.")
    def test_all_gather(self, ranks):
        """all_gather brings the complete chunks to all ranks (4 ranks)."""
        expected = total(4, (11,))
        for rank, got in enumerate(ranks(4, on_rank_ring.gathered, 11)):
            assert torch.equal(got, expected), f"4 ranks: rank {rank} {difference(got, expected)}"

    @hint("A ring has one direction: each rank sends to rank + 1, the last one to rank 0.")
    def test_neighbours(self, ranks):
        """Each rank sends 2(N−1) messages, all to its right neighbour (4 ranks)."""
        for _, by_rank in self.results(ranks, 4, traffic, (12,)):
            for rank, (sent,) in enumerate(by_rank):
                to = [other for other, _ in sent]
                assert to == [(rank + 1) % 4] * 6, f"rank {rank} sends {len(to)} messages, to {to}"

    @hint("Each message is one chunk, about an Nth of the buffer.")
    def test_bytes(self, ranks):
        """Each rank sends 2(N−1)/N of the buffer, up to the rounding of the chunks (4 ranks)."""
        for _, by_rank in self.results(ranks, 4, traffic, LENGTHS):
            for rank, by_length in enumerate(by_rank):
                for length, sent in zip(LENGTHS, by_length, strict=True):
                    numbers = sum(nbytes for _, nbytes in sent) / 2
                    # Where 4 does not divide the length, a chunk may have up to 3 numbers more.
                    allowed = 6 * (length // 4), 6 * (length // 4 + length % 4)
                    assert allowed[0] <= numbers <= allowed[1], (
                        f"of {length} numbers (2 bytes each) rank {rank} sends {2 * numbers:g} "
                        f"bytes, {numbers / length:.2f} of the buffer instead of 1.5"
                    )
