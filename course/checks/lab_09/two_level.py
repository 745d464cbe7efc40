"""Checks of `two_level`, exercise 1 of lab 09."""

import math
from collections.abc import Iterator

import torch

from course.checks.lab_09 import on_rank_two_level as on_rank
from course.checks.tools.hint import Failure, hint
from course.checks.tools.recorder import Call
from course.core import words

# Ranks per node, of six ranks; the type of the tensor; a factor whose sums only it can hold.
CASES = (
    (2, torch.float32, 1.0),
    (3, torch.float64, -1 - 2.0**-40),
    (6, torch.int64, 2**50 + 1),
    (1, torch.float32, 1.0),
)
NUMBERS = 4  # of the tensor
UNCHANGED = "No rank's tensor has changed: which line puts the sum into the tensor that was given?"
ROUNDED = "The sum is nearly right: are the numbers added up in the type of the tensor?"


def on(size: int) -> str:
    """The start of a sentence about nodes of `size` ranks."""
    return f"{words.plural(size, 'rank')} per node"


def crossing(result: dict, rank: int, size: int) -> list[Call]:
    """The calls of a rank that send something to another node, of `size` ranks per node."""
    return [
        call
        for call in result["calls"]
        if call.name not in ("recv", "irecv")
        and any(other // size != rank // size for other in peers(call))
    ]


def peers(call: Call) -> tuple[int, ...]:
    """The ranks that a call sends something to, or the whole group of a collective."""
    return (call.to,) if call.name in ("send", "isend") else call.ranks


def sent(call: Call) -> float:
    """How many numbers a call sends from a rank at most; a ring makes an all-reduce."""
    others = len(call.ranks) - 1
    match call.name:
        case "send" | "isend":
            return call.elements
        case "all_reduce":
            return 2 * others / len(call.ranks) * call.elements
        case _:
            return others * call.elements


class TestTwoLevel:
    """Exercise 1: an all-reduce that adds up within each node first."""

    def results(self, ranks) -> Iterator[tuple[int, float, list[dict]]]:
        """(ranks per node, factor, results by rank) of each case, all from one set of six ranks."""
        by_rank = ranks(6, on_rank.two_level, CASES)
        for (size, _, factor), results in zip(CASES, zip(*by_rank, strict=True), strict=True):
            yield size, factor, list(results)

    @hint(
        "There are three phases: within the node, between the leaders, within the node. "
        "Does every rank take part in those that concern it?"
    )
    def test_sum(self, ranks):
        """Every rank's tensor becomes the sum over all six ranks (as three nodes, two and one),
        also in a second call, in double precision and of large whole numbers.
        """
        for size, factor, results in self.results(ranks):
            once = [(60 * i + 21) * factor for i in range(NUMBERS)]
            again = [6 * number for number in once] + once
            own = [[(10 * i + rank + 1) * factor for i in range(NUMBERS)] for rank in range(6)]
            if [result["sum"] for result in results] == own:
                raise Failure(f"{on(size)}: rank 0 has {own[0]}, not {once}", UNCHANGED)
            for rank, result in enumerate(results):
                self.hold(result["sum"], once, f"{on(size)}: rank {rank}")
                self.hold(result["again"], again, f"{on(size)}: after a second call rank {rank}")

    def hold(self, got: list, expected: list, who: str) -> None:
        """Hold the numbers of a rank to the sum; one that is only rounded has its own hint."""
        if got != expected:
            message = f"{who} has {got}, not {expected}"
            if all(math.isclose(*pair, rel_tol=1e-5) for pair in zip(got, expected, strict=False)):
                raise Failure(message, ROUNDED)
            raise AssertionError(message)

    @hint("Only one rank of each node talks to the others: look at the group of each call.")
    def test_cable(self, ranks):
        """A collective that crosses from node to node is among one rank of each. With a single
        node, none crosses.
        """
        for size, _, results in self.results(ranks):
            for rank, result in enumerate(results):
                for call in crossing(result, rank, size):
                    nodes = [peer // size for peer in {rank, *peers(call)}]
                    assert len(nodes) == len(set(nodes)), (
                        f"{on(size)}: {call.name} crosses between nodes among the ranks "
                        f"{sorted({rank, *peers(call)})}, and some of these share a node"
                    )

    @hint(
        "Is what the leaders exchange as large as one tensor, "
        "or as the tensors of all ranks together?"
    )
    def test_bytes(self, ranks):
        """What a node sends is no more than in an all-reduce of one tensor, however many ranks a
        node has.
        """
        for size, _, results in self.results(ranks):
            nodes = 6 // size
            whole = math.ceil(NUMBERS / size) * size  # in parts of equal length, one per rank
            most = 2 * (nodes - 1) / nodes * whole
            for node in range(nodes):
                mine = range(node * size, (node + 1) * size)
                calls = [call for rank in mine for call in crossing(results[rank], rank, size)]
                numbers = sum(sent(call) for call in calls)
                assert numbers <= most + 1e-9, (
                    f"{on(size)}: node {node} sends {numbers:g} numbers to other nodes "
                    f"({', '.join(call.name for call in calls)}); an all-reduce of the {NUMBERS} "
                    f"numbers of a tensor sends {2 * (nodes - 1) / nodes * NUMBERS:.3g}"
                )

    @hint("Each new group costs connections, so make the groups once, in the constructor.")
    def test_groups(self, ranks):
        """Groups are made in the constructor, not in each call."""
        for size, _, results in self.results(ranks):
            made = max(result["groups_in_call"] for result in results)
            assert made == 0, f"{on(size)}: an all_reduce makes {words.plural(made, 'group')}"
