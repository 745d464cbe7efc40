"""Checks of my_token_mean: each target of a step counts the same."""

from course.checks.lab_04e import on_rank_my_token_mean as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE

# For each rank, how many targets each pass has.
UNEVEN = [[1, 7, 3, 2], [12, 5, 9, 12], [4, 4, 1, 6]]
ONE_PASS = [[2], [11], [5]]
NONE = [[3, 0, 5], [0, 0, 0], [8, 2, 0]]


class TestMyTokenMean:
    """Exercise 1: one mean for the whole step."""

    @hint("Divide each sum by one number. Which targets does it count, and what does DDP do after?")
    def test_gradient(self, ranks):
        """The gradient is that of the mean over all targets (2 and 3 ranks, 1 and 4 passes)."""
        for counts in (ONE_PASS, UNEVEN):
            _hold(ranks, counts)

    @hint("Which of the ranks makes a backward pass, and which ranks wait for it?")
    def test_no_targets(self, ranks):
        """It is right, too, if a pass or a whole rank has no target."""
        _hold(ranks, NONE)

    @hint("A forward pass keeps what its backward needs. Of how many passes may that be, at once?")
    def test_a_pass_at_a_time(self, ranks):
        """Each pass has a forward pass of its own, and its backward pass before the next one."""
        counts = UNEVEN[:2]
        for rank, (_, passes) in enumerate(ranks(2, on_rank.passes, counts)):
            assert passes == ["forward", "backward"] * 4, (
                f"rank {rank} has four passes, and what it does is {', '.join(passes)}"
            )


def _hold(ranks, counts):
    """Demand the right gradients where the passes of rank r have `counts[r]` targets."""
    for world_size in (2, 3):
        chosen = counts[:world_size]
        for rank, (off, _) in enumerate(ranks(world_size, on_rank.passes, chosen)):
            assert off < CLOSE, (
                f"where the ranks' passes have {chosen} targets, a gradient on rank {rank} is off "
                f"by {off:.2g}"
            )
