"""Checks of my_split: operators and linear layers split over the ranks of a group."""

from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor, nn

from course.checks.lab_11 import on_rank_split as on_rank
from course.checks.tools.hint import Failure, Undecided, hint
from course.checks.tools.reference import CLOSE
from course.core import words

DRAWN = (
    "Draw the whole layer on every rank, and keep a part: "
    "what would equal seeds give if each rank drew its own part only?"
)
MORE = "The whole layer is drawn once; what else in the layer draws random numbers, or sets a seed?"
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


def share(name: str, whole: Tensor, rank: int, ranks: int, blocks: int = 1) -> Tensor:
    """A rank's part of a parameter of a layer, or of its gradient."""
    if "ColumnLinear" in name:
        return whole.unflatten(0, (blocks, -1)).chunk(ranks, 1)[rank].flatten(0, 1)
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
        for world_size in (1, 3):
            for rank, results in enumerate(ranks(world_size, on_rank.started)):
                for name, (got, following) in results.items():
                    self.started(name, got, following, rank, world_size)

    def started(self, name: str, got: dict, following: Tensor, rank: int, world_size: int) -> None:
        """Hold a layer to its share of one of torch's, and to what that one draws."""
        where = words.plural(world_size, "rank")
        _, *sizes, blocks = on_rank.LAYERS[name]
        layer, expected = on_rank.seeded(nn.Linear, *sizes)
        for kind, whole in layer.named_parameters():
            if kind not in got:
                there = ", ".join(got)
                raise Failure(f"{name}: {kind} is not among the parameters, {there}", NAMED)
            part = share(f"{name}.{kind}", whole.detach(), rank, world_size, blocks)
            if wrong := off(got[kind], part):
                raise Failure(
                    f"{where}: {name}: {kind} of rank {rank} {wrong}, "
                    "compared with its share of the whole layer",
                    BLOCKS if blocks > 1 or got[kind].shape != part.shape else DRAWN,
                )
        if not torch.equal(following, expected):
            raise Failure(
                f"{where}: after {name}, rank {rank} draws other random numbers than after the "
                "whole layer, so the next layer starts otherwise",
                MORE,
            )

    @hint(
        "Take two ranks and one number each on paper: "
        "what does every rank add, and what is summed where?"
    )
    def test_same_as_whole(self, ranks):
        """An MLP of both layers has the output and the gradients of a whole one."""
        for world_size in (1, 2, 3):
            wrong = self.wrong(ranks, [[*range(world_size)]])
            assert not wrong, wrong

    @hint("Which ranks take part in `all_reduce`, and which of them is this one?")
    def test_group(self, ranks):
        """Two groups of two ranks each, with inputs of their own, do not mix."""
        if self.wrong(ranks, [[0, 1]]):
            raise Undecided("one group is not right yet: see the check of an MLP")
        for groups in ([[0, 1], [2, 3]], [[0, 2], [1, 3]]):
            wrong = self.wrong(ranks, groups)
            assert not wrong, wrong

    def wrong(self, ranks: Callable, groups: list[list[int]]) -> str:
        """How what the ranks get differs from their shares of a whole network; "" if not."""
        results = ranks(sum(map(len, groups)), on_rank.network, groups)
        for place, group in enumerate(groups):
            for name, whole in on_rank.whole(place).items():
                where = f"the group of ranks {group}: the {name}"
                for number, rank in enumerate(group):
                    if results[rank].get(name) is None:
                        return f"{where} is missing on rank {rank}"
                    if wrong := off(results[rank][name], share(name, whole, number, len(group))):
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
