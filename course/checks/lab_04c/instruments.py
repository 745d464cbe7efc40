"""Checks of instruments: do the ranks hold the same weights, and which one is slow?"""

from course.checks.lab_04c import on_rank_instruments as on_rank
from course.checks.tools.hint import hint


class TestInstruments:
    """Exercise 2: instruments that notice what no error tells."""

    @hint("Take the bytes of every parameter, in the order of the model, on each rank.")
    def test_apart(self, ranks):
        """All ranks find those whose parameters differ from rank 0's, be it by one bit or because
        two weights have changed places; equal NaNs do not differ (3 ranks).
        """
        for rank, result in enumerate(ranks(3, on_rank.apart)):
            for change, got, expected in result:
                assert got == expected, (
                    f"{change}: rank {rank} says that {got} differ from rank 0; it is {expected}"
                )

    @hint("DDP makes the buffers equal only before a forward, so leave them out.")
    def test_buffers(self, ranks):
        """Buffers that differ, as batch norm's do between two forwards, do not count."""
        for rank, got in enumerate(ranks(2, on_rank.other_buffers)):
            assert got == [], f"only buffers differ, and rank {rank} says that {got} differ"

    @hint("A checksum is as short for a large model as for a small one.")
    def test_cheap(self, ranks):
        """Only a few bytes are sent for a model of 400 kB, and the model is left as it was."""
        for rank, (sent, changed) in enumerate(ranks(2, on_rank.cost)):
            assert sent < on_rank.FEW, f"rank {rank} sends {sent} bytes"
            assert not changed, f"afterwards rank {rank}'s model has changed: {changed}"

    @hint("Take the mean of the others, without the slowest itself.")
    def test_slowest(self, ranks):
        """All ranks find the rank that computed longest, or one of two, and its time relative to
        the others' mean.
        """
        times = [[1.0, 2.0, 90.0, 6.0], [3e-5, 1e-5, 1e-5, 2e-5], [5.0, 5.0, 5.0, 5.01]]
        times.append([1.0, 9.0, 9.0, 2.0])
        for rank, answers in enumerate(ranks(4, on_rank.slowest, times)):
            for seconds, (slowest, factor) in zip(times, answers, strict=True):
                longest = max(seconds)
                assert slowest in [at for at, time in enumerate(seconds) if time == longest], (
                    f"of {seconds}, rank {rank} names rank {slowest} as the slowest"
                )
                right = longest * 3 / (sum(seconds) - longest)
                assert abs(factor - right) < 1e-3, (
                    f"of {seconds}, rank {rank} says {factor:.3f} times, not {right:.3f}"
                )
