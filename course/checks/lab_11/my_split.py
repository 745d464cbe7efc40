"""Checks of my_split: operators and linear layers split over the ranks of a group."""

from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor, nn

from course.checks.lab_11 import on_rank_split as on_rank
from course.checks.runner.outcomes import Undecided
from course.checks.tools.hint import Fault, hint
from course.checks.tools.reference import CLOSE
from course.core import words

DRAWN = (
    "Draw the whole layer on every rank, and keep a part: "
    "what would equal seeds give if each rank drew its own part only?"
)
NAMED = "Each layer has two: an `nn.Parameter` called `weight`, and one called `bias`."
BLOCKS = (
    "A rank keeps its rows of each block, one block after another. "
    "The weight is (rows, inputs) again, and the bias has blocks, too."
)


def off(got: Tensor, expected: Tensor) -> str:
    """How a tensor differs from the one that is wanted; "" if it does not."""
    if got.shape != expected.shape:
        return f"has the shape {tuple(got.shape)} instead of {tuple(expected.shape)}"
    if got.dtype != expected.dtype:
        return f"is {got.dtype} instead of {expected.dtype}"
    if torch.allclose(got, expected, rtol=0, atol=CLOSE):
        return ""
    return f"is off by {float((got - expected).abs().nan_to_num(0, torch.inf).max()):.2g}"


def share(name: str, whole: Tensor, rank: int, ranks: int) -> Tensor:
    """A rank's part of a parameter of an MLP, or of its gradient."""
    if "ColumnLinear" in name:
        return whole.chunk(ranks)[rank]
    return whole.chunk(ranks, dim=1)[rank] if "RowLinear.weight" in name else whole


class TestMySplit:
    """Exercise 1: layers split over ranks."""

    def operator(self, ranks: Callable, name: str, forward: str, backward: str) -> None:
        """Hold one operator to what it passes on in both directions: "its own" or "the sum"."""
        directions = (("forward", 0, forward), ("backward", 100, backward))
        for world_size in (1, 3):
            results = ranks(world_size, on_rank.operators)
            for dtype, (way, seed, passes) in product(on_rank.DTYPES, directions):
                by_rank = [on_rank.numbers(dtype, seed + rank) for rank in range(world_size)]
                for rank, got in enumerate(results):
                    expected = sum(by_rank) if passes == "the sum" else by_rank[rank]
                    wrong = off(got[f"{name} {way} {dtype}"], expected)
                    assert not wrong, (
                        f"{name}, {words.plural(world_size, 'rank')}, {dtype}: in {way}, "
                        f"what rank {rank} gets {wrong}; it should get {passes}"
                    )

    @hint("A rank that changes its copy of x changes the result of all ranks: by which gradient?")
    def test_enter(self, ranks):
        """Enter passes x on as it is, and adds up the gradients of all ranks on the way back."""
        self.operator(ranks, "Enter", "its own", "the sum")

    @hint("Take y = a + b: what is the gradient of a, if that of y is g?")
    def test_leave(self, ranks):
        """Leave adds up the partial results, and passes the gradient on as it is."""
        self.operator(ranks, "Leave", "the sum", "its own")

    @hint("`all_reduce` writes into the tensor that it is given; whose tensor is that?")
    def test_arguments(self, ranks):
        """Neither operator writes into a tensor that it was given."""
        for rank, result in enumerate(ranks(2, on_rank.operators)):
            for name, what in product(("Enter", "Leave"), ("argument", "gradient")):
                same = result[f"{name} {what} float32"].all()
                assert same, f"rank {rank}: {name} changes the {what} that it is given"

    @hint(DRAWN)
    def test_start(self, ranks):
        """After one seed, the shares of all ranks together are the whole layer, for any N."""
        torch.manual_seed(0)
        width, inner = on_rank.WIDTH, on_rank.INNER
        column, row = nn.Linear(width, inner), nn.Linear(inner, width)
        three = nn.Linear(width, 3 * inner)
        for world_size in (1, 3):
            for rank, got in enumerate(ranks(world_size, on_rank.started)):

                def rows(whole: Tensor, blocks: int = 1, n=world_size, rank=rank) -> Tensor:
                    return whole.unflatten(0, (blocks, -1)).chunk(n, 1)[rank].flatten(0, 1)

                expected = {
                    "ColumnLinear: weight": rows(column.weight),
                    "ColumnLinear: bias": rows(column.bias),
                    "RowLinear: weight": row.weight.chunk(world_size, 1)[rank],
                    "RowLinear: bias": row.bias,
                    "ColumnLinear of 3 blocks: weight": rows(three.weight, 3),
                    "ColumnLinear of 3 blocks: bias": rows(three.bias, 3),
                }
                for name, whole in expected.items():
                    if name not in got:
                        there = ", ".join(got)
                        raise Fault(f"{name} is not among the parameters, {there}", NAMED)
                    if wrong := off(got[name], whole.detach()):
                        raise Fault(
                            f"{words.plural(world_size, 'rank')}: {name} of rank {rank} {wrong}, "
                            "compared with its share of the whole layer",
                            BLOCKS if "blocks" in name or got[name].shape != whole.shape else DRAWN,
                        )

    @hint(
        "Take two ranks and one number each on paper: "
        "what does every rank add, and what is summed where?"
    )
    def test_same_as_whole(self, ranks):
        """An MLP of both layers has the output and the gradients of a whole one."""
        expected = on_rank.whole()
        for world_size in (1, 2, 3):
            results = ranks(world_size, on_rank.network)
            wrong = self.wrong(results, [expected] * world_size, world_size)
            assert not wrong, wrong

    @hint("Which argument of `all_reduce` says who takes part?")
    def test_group(self, ranks):
        """Two groups of two ranks each, with inputs of their own, do not mix."""
        alone = self.wrong(ranks(2, on_rank.network), [on_rank.whole()] * 2, 2)
        if alone:
            raise Undecided("one group is not right yet: see the check of an MLP")
        expected = [on_rank.whole(place) for place in (0, 0, 1, 1)]
        wrong = self.wrong(ranks(4, on_rank.network, 2), expected, 2)
        assert not wrong, wrong

    def wrong(self, results: list[dict], expected: list[dict], group_size: int) -> str:
        """How what the ranks found differs from their shares of a whole network; "" if not."""
        for rank, got in enumerate(results):
            for name, whole in expected[rank].items():
                where = f"groups of {group_size}: the {name}"
                if got.get(name) is None:
                    return f"{where} is missing on rank {rank}"
                if wrong := off(got[name], share(name, whole, rank % group_size, group_size)):
                    return f"{where} {wrong} on rank {rank}"
        return ""

    @hint("With 3 blocks of 4 rows and 2 ranks, which 6 of the 12 rows does rank 0 need?")
    def test_blocks(self, ranks):
        """With 3 blocks in one weight, each rank computes its share of each block."""
        torch.manual_seed(0)
        whole = nn.Linear(on_rank.WIDTH, 3 * on_rank.INNER)(on_rank.inputs(0)).detach()
        for rank, got in enumerate(ranks(2, on_rank.blocks)):
            expected = whole.unflatten(-1, (3, -1)).chunk(2, -1)[rank].flatten(-2)
            wrong = off(got, expected)
            assert not wrong, f"the output of rank {rank} {wrong}"

    @hint("Which of the four passes (two operators, two directions) have to communicate?")
    def test_messages(self, ranks):
        """An MLP sends one all-reduce in forward and one in backward, each as large as its
        activations.
        """
        activations = on_rank.SAMPLES * on_rank.TOKENS * on_rank.WIDTH
        for result in ranks(2, on_rank.messages):
            for direction, calls in result.items():
                sent = [f"{name} of {elements} numbers" for name, elements, _ in calls]
                assert sent == [f"allreduce of {activations} numbers"], (
                    f"in {direction}, it sends: {', '.join(sent) or 'nothing'}; "
                    f"one allreduce of {activations} numbers will do"
                )

    @hint("A slice of the whole layer keeps all of it alive; what else do you keep in a variable?")
    def test_memory(self, ranks):
        """After a step, a rank holds its shares, and neither whole layers nor activations."""
        for rank, (alive, shares) in enumerate(ranks(2, on_rank.held)):
            assert alive <= shares, (
                f"rank {rank} holds tensors of {alive} bytes; its shares of both layers "
                f"are {shares} bytes"
            )
