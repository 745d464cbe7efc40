"""The checks that every all-reduce of lab 02 must pass, however it sends its messages."""

from collections.abc import Callable, Iterator

import torch

from course.checks.lab_02 import on_rank_all_reduce as on_rank
from course.checks.runner.catalogue import exercise_of
from course.checks.tools.hint import Failure, hint
from course.checks.tools.loose_ends import undecided_where_wrong
from course.core import words

SHAPES = ((0,), (1,), (2,), (), (7,), (3, 5), (1000,))


class AnyAllReduce:
    """The checks of an exercise whose functions `names` are all-reduces."""

    names: tuple[str, ...]

    def results(
        self, ranks: Callable, world_size: int, function: Callable, *args: object
    ) -> Iterator[tuple[str, list]]:
        """(name of the function, results by rank), all from one set of ranks."""
        by_rank = ranks(world_size, function, exercise_of(self), self.names, *args)
        for name in self.names:
            yield name, [results[name] for results in by_rank]

    def compare(self, ranks: Callable, world_size: int) -> None:
        """Every rank has the sum that one process finds, for each shape."""
        for name, by_rank in self.results(ranks, world_size, on_rank.sums, SHAPES):
            for rank, left in enumerate(by_rank):
                for shape, got in left.items():
                    expected = on_rank.total(world_size, shape)
                    assert torch.equal(got, expected), (
                        f"{name}, {words.plural(world_size, 'rank')}, shape {shape}: "
                        f"rank {rank} {difference(got, expected)}"
                    )

    @hint(
        "Draw an arrow from each rank that waits to the rank it waits for: do the arrows form a "
        "circle?"
    )
    def test_ends(self, ranks):
        """No rank waits forever (3 ranks)."""
        ranks(3, on_rank.sums, exercise_of(self), self.names, ((12,),))

    @hint(
        "Try it on paper with three ranks and two numbers each: "
        "what does every rank hold after each message?"
    )
    def test_sum(self, ranks):
        """Every rank has the sum, for 2 and 5 ranks and any shape: none, one, fewer numbers than
        ranks.
        """
        for world_size in (2, 5):
            self.compare(ranks, world_size)

    @hint("With one rank there is nobody to talk to, and the sum is already there.")
    def test_one_rank(self, ranks):
        """On one rank it changes nothing."""
        self.compare(ranks, 1)

    @hint("Which dtype have the tensors that you make, to receive into and to add up in?")
    def test_dtypes(self, ranks):
        """Sums are exact in 64-bit integers, and in bfloat16, float16, float32, float64 where they
        can be; infinity and NaN are passed on.
        """
        for name, by_rank in self.results(ranks, 3, on_rank.sums_of_dtypes):
            for rank, left in enumerate(by_rank):
                for dtype, got in left.items():
                    everyones = [on_rank.with_odd_ends(other, dtype) for other in range(3)]
                    expected = torch.stack(everyones).sum(0, dtype=dtype)
                    assert torch.allclose(got, expected, rtol=0, atol=0, equal_nan=True), (
                        f"{name}, 3 ranks, {dtype}: rank {rank} has {got.tolist()}, "
                        f"but the sum is {expected.tolist()}"
                    )

    @hint(
        "The caller keeps its tensor. Write into that, "
        "and let `in_place` deal with gaps in its memory."
    )
    def test_in_place(self, ranks):
        """A transposed view with gaps is changed in place, and what lies in the gaps is left
        alone.
        """
        whole = on_rank.total(2, (4, 6))
        for name, by_rank in self.results(ranks, 2, on_rank.views):
            for rank, (view, gaps) in enumerate(by_rank):
                assert torch.equal(view, whole[:, ::2].t()), (
                    f"{name}: rank {rank}'s view does not hold the sum"
                )
                assert torch.equal(gaps, on_rank.numbers(rank, (4, 6))[:, 1::2]), (
                    f"{name}: on rank {rank} numbers beside the view have changed"
                )

    @hint("In which order does each rank add the terms of one sum?")
    def test_same_bits(self, ranks):
        """All ranks have the same result, bit by bit, where rounding depends on the order (4
        ranks); and it is the sum, up to rounding.
        """
        terms = torch.stack([on_rank.rough(rank) for rank in range(4)]).double()
        rounding = 1e-6 * terms.abs().sum(0)
        for name, by_rank in self.results(ranks, 4, on_rank.rounded):
            for rank, other in enumerate(by_rank):
                differ = int((by_rank[0] != other).sum())
                assert not differ, (
                    f"{name}: {differ} of {other.numel()} sums on rank {rank} differ from rank 0's"
                )
            wrong = int(((by_rank[0] - terms.sum(0)).abs() > rounding).sum())
            assert not wrong, f"{name}: {wrong} of 500 sums are off by more than rounding"

    @hint("Write the communication yourself, with isend and irecv.")
    def test_own_work(self, ranks):
        """It uses single messages only, none of torch's collectives."""
        for name, by_rank in self.results(ranks, 2, on_rank.without_library):
            if not torch.equal(by_rank[0], on_rank.total(2, (12,))):
                raise Failure(f"{name}: the sum is wrong")  # not for want of work of its own

    @hint("`isend` and `irecv` return handles: which of them do you wait for, and when?")
    def test_loose_ends(self, ranks):
        """Every message is waited for before its tensor is read or changed, and many calls leave
        no process groups or tensors behind (3 ranks).
        """
        for name, by_rank in self.results(ranks, 3, on_rank.loose_ends):
            undecided_where_wrong(by_rank)
            for rank, loose_end in enumerate(by_rank):
                assert not loose_end, f"{name}: on rank {rank}, {loose_end}"


def difference(got: torch.Tensor, expected: torch.Tensor) -> str:
    """What is wrong with a result, in words that follow the rank's name."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"has {got.dtype} of shape {tuple(got.shape)}"
    wrong = (got != expected).flatten().nonzero().flatten().tolist()
    first = wrong[0] if wrong else 0
    return f"is wrong at {len(wrong)} of {expected.numel()} places, the first of them {first}"
