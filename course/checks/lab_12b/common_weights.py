"""Checks of `common_weights`, exercise 2 of lab 12b."""

import signal

import torch
from torch import Tensor

from course.checks.lab_12b import on_rank_common_weights as on_rank
from course.checks.lab_12b.on_rank_common_weights import Member, State, weights_of
from course.checks.tools.hint import Undecided, hint

CLOSE = 1e-5
EQUAL = [(3, 60, 640)] * 3
UNEQUAL = [(3, 60, 640), (3, 60, 320), (3, 60, 64)]


def mean(members: list[Member]) -> Tensor:
    """What the members should agree on, by the rule of the lab."""
    newest = max(version for version, _, _ in members)
    counts = [samples if version == newest else 0 for version, _, samples in members]
    if not any(counts):
        counts = [int(version == newest) for version, _, _ in members]
    parts = [count / sum(counts) * weights_of(i).double() for i, count in enumerate(counts)]
    return torch.stack(parts).sum(dim=0)


def off(got: Tensor, expected: Tensor) -> float:
    """The largest difference, infinite if the shapes differ."""
    if got.shape != expected.shape:
        return float("inf")
    return float((got.double() - expected).abs().max())


class TestCommonWeights:
    """Exercise 2: what replicas that come and go agree on."""

    def _average(self, ranks, members: list[Member], what: str) -> None:
        for rank, (weights, step, _) in enumerate(
            ranks(len(members), on_rank.averaged, members, join=False)
        ):
            far = off(weights, mean(members))
            assert far < CLOSE, f"{what}: rank {rank} is off by {far:.2g}"
            expected = max(step for version, step, _ in members if version == members[0][0])
            assert step == expected, f"{what}: rank {rank} goes on from step {step}, not {expected}"

    @hint("Your share is what you have done, divided by what all who count have done.")
    def test_samples(self, ranks):
        """Members count by their samples; all receive the same mean and the step."""
        self._average(ranks, EQUAL, "all have done the same")
        self._average(ranks, UNEQUAL, "members with 640, 320 and 64 samples")
        self._average(ranks, UNEQUAL[:1], "a member that is alone")

    @hint("Whose weights are newest, and what should the others add to the sum?")
    def test_behind(self, ranks):
        """Members that are behind count nothing, whatever they have done, and receive the mean and
        the step.
        """
        self._average(ranks, [*UNEQUAL[:2], (0, 0, 0)], "a newcomer")
        self._average(ranks, [*UNEQUAL[:2], (2, 40, 6400)], "a member that was late")

    @hint("How much is 0/0? Which weights count when no member has done anything yet?")
    def test_first_round(self, ranks):
        """In the first round, with no samples yet, all count alike."""
        self._average(ranks, [(0, 0, 0)] * 3, "the first round")

    @hint("An all-reduce works in place: in which tensor does the sum arrive?")
    def test_keeps_its_own(self, ranks):
        """average() leaves the weights of its state as they are."""
        for rank, (_, _, intact) in enumerate(ranks(3, on_rank.averaged, UNEQUAL, join=False)):
            assert intact, f"after average(), the weights in rank {rank}'s state have changed"

    @hint("What does a state say after a round, and what begins to count from zero again?")
    def test_next_round(self, ranks):
        """next_round() returns the common weights, the round that made them as their version, the
        step, and no samples.
        """
        for rank, state in enumerate(ranks(3, on_rank.met, UNEQUAL, join=False)):
            _right(rank, state, mean(UNEQUAL), 4)

    @hint(
        "`meet` is asked for the round after `number`. It returns two things: which of them does a "
        "newcomer need that comes when the others are many rounds further?"
    )
    def test_later_round(self, ranks):
        """next_round() asks for the round after its own, with its name and its deadline, and takes
        part in the one that meet() answers.
        """
        for rank, state in enumerate(ranks(3, on_rank.met, UNEQUAL, later=3, join=False)):
            _right(rank, state, mean(UNEQUAL), 7)

    @hint("A failed round is over. Which is the next one, and with which weights do you go there?")
    def test_killed(self, ranks):
        """When a member is killed (by SIGKILL) before it has said where it stands, the others
        average in the next round.
        """
        self._survive(ranks, UNEQUAL, "before")

    @hint("What becomes of the second round that fails? And of the third?")
    def test_killed_again(self, ranks):
        """When another member is killed in that next round, the others average in the one after."""
        self._survive(ranks, [*UNEQUAL, (3, 60, 640)], "before", victims=2)

    @hint("What was in the tensor before the sum, and what is in it after half of the sum?")
    def test_killed_in_the_sum(self, ranks):
        """When a member is killed in the middle of the sum, the others average the weights that
        they came with, in the next round.
        """
        self._survive(ranks, UNEQUAL, "sum")

    def _survive(self, ranks, members: list[Member], fatal: str, victims: int = 1) -> None:
        ended = ranks(len(members), on_rank.survived, members, fatal, victims, join=False)
        survivors = len(members) - victims
        if any(code != -signal.SIGKILL for code in ended[survivors:]):
            raise Undecided("a member that was to be killed had ended before: see above")
        for rank, state in enumerate(ended[:survivors]):
            _right(rank, state, mean(members[:survivors]), members[0][0] + 1 + victims)


def _right(rank: int, state: State, expected: Tensor, version: int) -> None:
    weights, got, step, samples = state
    far = off(weights, expected)
    assert far < CLOSE, f"rank {rank}'s common weights are off by {far:.2g}"
    assert got == version, f"rank {rank}: the weights are of round {version}, not {got}"
    assert step == 60, f"rank {rank} goes on from step {step}, not 60"
    assert samples == 0, f"rank {rank} counts {samples} samples since a round that has just ended"
