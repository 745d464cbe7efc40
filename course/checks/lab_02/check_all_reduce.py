"""Checks of lab 02: all-reduces made of single messages."""

from collections.abc import Callable, Iterator

import torch

from course.checks.engine.catalogue import hint
from course.checks.lab_02 import on_rank as on_rank

SHAPES = ((0,), (1,), (2,), (), (7,), (3, 5), (1000,))


class _AnyAllReduce:
    """What holds for every all-reduce, however it sends its messages."""

    exercise: str
    names: tuple[str, ...]

    def each(
        self, ranks: Callable, world_size: int, function: Callable, *args: object
    ) -> Iterator[tuple[str, list]]:
        """(name of the function, results by rank), all from one set of ranks."""
        by_rank = ranks(world_size, function, self.exercise, self.names, *args)
        for name in self.names:
            yield name, [results[name] for results in by_rank]

    def compare(
        self, ranks: Callable, world_size: int, shapes: tuple, dtypes: tuple = (torch.int64,)
    ) -> None:
        """Every rank has what one process finds, for each shape and dtype."""
        for name, by_rank in self.each(ranks, world_size, on_rank.sums, shapes, dtypes):
            for rank, left in enumerate(by_rank):
                for (shape, dtype), got in left.items():
                    wanted = on_rank.total(world_size, shape, dtype)
                    assert got.dtype == dtype and torch.equal(got, wanted), (
                        f"{name}, {_ranks(world_size)}, shape {shape}, {dtype}: rank {rank} {_difference(got, wanted)}"
                    )

    @hint(
        "draw who waits for whom: does every rank that sends find another that receives at that moment?"
    )
    def test_ends(self, ranks):
        """No rank waits for ever (3 ranks)."""
        ranks(3, on_rank.sums, self.exercise, self.names, ((12,),))

    @hint(
        "try it on paper with three ranks and seven numbers; which chunk is shorter, and which is empty?"
    )
    def test_sum(self, ranks):
        """Every rank has the sum, for 2 and 5 ranks and any shape: none, one, fewer numbers than ranks."""
        for world_size in (2, 5):
            self.compare(ranks, world_size, SHAPES)

    @hint("a world of one is a world: nobody to talk to, and the sum is there already")
    def test_one_rank(self, ranks):
        """On one rank it changes nothing."""
        self.compare(ranks, 1, SHAPES)

    @hint("what you receive into, and what you add up in, must have the dtype of the tensor")
    def test_dtypes(self, ranks):
        """Sums are exact in 64-bit integers, and in bfloat16, float16, float32, float64 where they can be."""
        self.compare(ranks, 3, ((10,),), on_rank.DTYPES)

    @hint(
        "the caller keeps its tensor; write into that, and let `in_place` deal with gaps in its memory"
    )
    def test_in_place(self, ranks):
        """A transposed view with gaps is changed in place, and what lies in the gaps is left alone."""
        whole = on_rank.total(2, (4, 6))
        for name, by_rank in self.each(ranks, 2, on_rank.views):
            for rank, (view, gaps) in enumerate(by_rank):
                assert torch.equal(view, whole[:, ::2].t()), (
                    f"{name}: rank {rank}'s view does not hold the sum"
                )
                assert torch.equal(gaps, on_rank.numbers(rank, (4, 6))[:, 1::2]), (
                    f"{name}: on rank {rank} numbers beside the view have changed"
                )

    @hint("in which order does each rank add the terms of one sum?")
    def test_same_bits(self, ranks):
        """All ranks have the same result, bit by bit, where rounding depends on the order (4 ranks)."""
        for name, by_rank in self.each(ranks, 4, on_rank.rounded):
            for rank, other in enumerate(by_rank):
                differ = int((by_rank[0] != other).sum())
                assert not differ, (
                    f"{name}: {differ} of {other.numel()} sums on rank {rank} differ from rank 0's"
                )

    @hint("write the communication yourself, with isend and irecv")
    def test_own_work(self, ranks):
        """It uses single messages only, none of torch's collectives."""
        for name, by_rank in self.each(ranks, 2, on_rank.without_library):
            assert torch.equal(by_rank[0], on_rank.total(2, (12,))), f"{name}: the sum is wrong"


class TestSimpleWays(_AnyAllReduce):
    """Exercise 1: reduce + broadcast, and all-to-all."""

    exercise = "simple_ways"
    names = ("reduce_broadcast", "all_to_all")

    @hint("reduce + broadcast: who talks to rank 0 only? All-to-all: how many others are there?")
    def test_messages(self, ranks):
        """Whole buffers travel: N−1 from rank 0 and one from each other; in all-to-all N−1 from each (4 ranks)."""
        for name, by_rank in self.each(ranks, 4, on_rank.traffic, (10,)):
            for rank, (sent,) in enumerate(by_rank):
                others = [other for other in range(4) if other != rank]
                to = others if rank == 0 or name == "all_to_all" else [0]
                assert sorted(sent) == [(other, 10) for other in to], (
                    f"{name}: rank {rank} sends {_listed(sent)}; it should send 10 numbers to each of {to}"
                )


class TestRing(_AnyAllReduce):
    """Exercise 2: the ring."""

    exercise = "ring"
    names = ("all_reduce",)

    @hint("follow one chunk round the ring: how many ranks have added to it after each round?")
    def test_reduce_scatter(self, ranks):
        """After reduce_scatter, chunk (rank + 1) % N is complete on each rank (4 ranks)."""
        wanted = on_rank.total(4, (11,))
        for rank, (flat, starts) in enumerate(ranks(4, on_rank.scattered, 11)):
            chunk = (rank + 1) % 4
            span = slice(starts[chunk], starts[chunk + 1])
            assert torch.equal(flat[span], wanted[span]), (
                f"4 ranks: chunk {chunk} is not complete on rank {rank}"
            )

    @hint(
        "what a rank receives in one round is what it sends in the next; nothing is added any more"
    )
    def test_all_gather(self, ranks):
        """all_gather brings the complete chunks to all ranks (4 ranks)."""
        wanted = on_rank.total(4, (11,))
        for rank, got in enumerate(ranks(4, on_rank.gathered, 11)):
            assert torch.equal(got, wanted), f"4 ranks: rank {rank} {_difference(got, wanted)}"

    @hint("a ring has one direction: to rank + 1, the last to rank 0")
    def test_neighbours(self, ranks):
        """Each rank sends 2(N−1) messages, all to its right neighbour (4 ranks)."""
        for _, by_rank in self.each(ranks, 4, on_rank.traffic, (12,)):
            for rank, (sent,) in enumerate(by_rank):
                to = [other for other, _ in sent]
                assert to == [(rank + 1) % 4] * 6, f"rank {rank} sends {len(to)} messages, to {to}"

    @hint("each message is one chunk, about an Nth of the buffer")
    def test_bytes(self, ranks):
        """Each rank sends 2(N−1)/N of the buffer, up to the rounding of the chunks (4 ranks)."""
        lengths = (12, 10, 3, 1001)
        for _, by_rank in self.each(ranks, 4, on_rank.traffic, lengths):
            for rank, by_length in enumerate(by_rank):
                for length, sent in zip(lengths, by_length, strict=True):
                    count, chunk = sum(number for _, number in sent), -(-length // 4)
                    assert 2 * (length - chunk) <= count <= 6 * chunk, (
                        f"of {length} numbers rank {rank} sends {count}, "
                        f"{count / length:.2f} of the buffer instead of 1.5"
                    )


def _ranks(count: int) -> str:
    return f"{count} rank{'s' * (count > 1)}"


def _listed(sent: list[tuple[int, int]]) -> str:
    return ", ".join(f"{number} numbers to rank {to}" for to, number in sent) or "nothing"


def _difference(got: torch.Tensor, wanted: torch.Tensor) -> str:
    """What is wrong with a result, in words."""
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"has {got.dtype} of shape {tuple(got.shape)}"
    wrong = (got != wanted).flatten().nonzero().flatten().tolist()
    return f"is wrong at {len(wrong)} of {wanted.numel()} places, the first of them {wrong[0] if wrong else 0}"
