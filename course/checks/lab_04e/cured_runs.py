"""Checks of cured_runs: two runs that were wrong without a sign, cured."""

from course.checks.lab_04e import on_rank_cured_runs as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestCuredRuns:
    """Exercise 2: two runs that were wrong without a sign."""

    @hint("What a step calls must be the DDP model itself, and what it wraps must return the loss.")
    def test_averaged(self, ranks):
        """In each of three steps, the gradients are the mean of the ranks' (2 and 3 ranks)."""
        for world_size in (2, 3):
            for rank, (off, _, _) in enumerate(ranks(world_size, on_rank.steps)):
                for step, gap in enumerate(off, 1):
                    assert gap < CLOSE, (
                        f"in step {step}, a gradient on rank {rank} of {world_size} is off by "
                        f"{gap:.2g}"
                    )

    @hint("The policy, the good answers, the bad ones: in which order does the loss take them?")
    def test_loss(self, ranks):
        """What is returned is each rank's own loss, of the policy and the answers given."""
        for rank, (_, losses, _) in enumerate(ranks(2, on_rank.steps)):
            for got, own in losses:
                assert abs(got - own) < CLOSE, (
                    f"rank {rank}'s own loss is {own:.4f}, and what is returned is {got:.4f}"
                )

    @hint("The optimizer has the parameters of the policy that was given. Are they the ones used?")
    def test_same_policy(self, ranks):
        """It trains the policy that it was given, which begins as rank 0's on all ranks."""
        for rank, (_, _, apart) in enumerate(ranks(2, on_rank.steps)):
            assert apart == 0, f"rank {rank} begins with weights that are {apart:.2g} off rank 0's"

    @hint("If one rank has a spike, what must all ranks answer? Then try each rank as that one.")
    def test_any_rank(self, ranks):
        """A spike on any rank is a spike for all; without one there is none (2 and 3 ranks)."""
        for world_size in (2, 3):
            high = [
                [60.0 if rank == other else 1.0 for rank in range(world_size)]
                for other in range(world_size)
            ]
            below = [[1.0] * world_size, [40.0] * world_size, [50.0] * world_size]
            _answers(ranks, world_size, high, [True] * world_size)
            _answers(ranks, world_size, below, [False] * 3)
            _answers(ranks, world_size, [[60.0] * world_size], [True])

    @hint("Compare nan with a number, both ways. Which comparison is true?")
    def test_not_a_number(self, ranks):
        """A loss that is not a number, or infinite, is a spike on all ranks."""
        nan, inf = float("nan"), float("inf")
        _answers(ranks, 2, [[nan, 1.0], [1.0, nan], [1.0, inf], [1.0, 2.0]], [True] * 3 + [False])


def _answers(ranks, world_size, losses, expected):
    """Demand these answers of all ranks, where rank r has the losses ``losses[step][r]``."""
    for rank, answers in enumerate(ranks(world_size, on_rank.spikes, losses)):
        for by_rank, answer, right in zip(losses, answers, expected, strict=True):
            assert answer == right, (
                f"where the ranks' losses are {by_rank} and 50 is allowed, rank {rank} answers "
                f"{answer}, not {right}"
            )
