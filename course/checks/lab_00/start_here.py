"""Checks of start_here: the mean over the ranks."""

from course.checks.lab_00 import on_rank_start_here as on_rank
from course.checks.lab_00.any_collective import no_loose_ends
from course.checks.tools.hint import Failure, hint

IN_PLACE = (
    "The caller looks at the tensor that it gave you. `number = ...` only gives that name to a new "
    "tensor. Is there a division, and does it change the tensor itself?"
)


class TestStartHere:
    """The mean over the ranks."""

    @hint("A mean is a sum divided by a count. How many numbers were added up?")
    def test_mean(self, ranks):
        """The mean is right on every rank, of 2 and of 3 numbers, in 32-bit and 64-bit floats."""
        for world_size in (2, 3):
            for rank, means in enumerate(ranks(world_size, on_rank.means)):
                for dtype, got, expected in means:
                    where = f"{world_size} ranks, {dtype}: rank {rank}"
                    if got == expected * world_size:
                        left = f"{where} is left with the sum {got!r}, not the mean {expected!r}"
                        raise Failure(f"{left}: is it divided, in its tensor?", IN_PLACE)
                    assert got == expected, f"{where} has {got!r}, not {expected!r}"

    @hint("Does the number of every rank, whatever it is, get into the sum?")
    def test_not_finite(self, ranks):
        """If one rank has infinity or NaN, every rank gets to see it."""
        for rank, odd in enumerate(ranks(2, on_rank.not_finite)):
            for number, got in odd:
                assert repr(got) == repr(number), (
                    f"rank 0 gives {number}, but rank {rank} has {got}"
                )

    @hint(
        "An asynchronous call gives you a handle: wait for it before you divide. "
        "And what does each call make that it never gives back?"
    )
    def test_loose_ends(self, ranks):
        """It waits for what it begins, and many calls leave no process groups or tensors behind."""
        no_loose_ends(ranks, on_rank.loose_ends)
