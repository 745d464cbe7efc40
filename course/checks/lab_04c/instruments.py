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
        for rank, found in enumerate(ranks(3, on_rank.apart)):
            for change, said, wanted in found:
                assert said == wanted, (
                    f"{change}: rank {rank} says that {said} differ from rank 0; it is {wanted}"
                )

    @hint("DDP makes the buffers equal only before a forward, so leave them out.")
    def test_buffers(self, ranks):
        """Buffers that differ, as batch norm's do between two forwards, do not count."""
        for rank, said in enumerate(ranks(2, on_rank.other_buffers)):
            assert said == [], f"only buffers differ, and rank {rank} says that {said} differ"

    @hint("A checksum is as short for a large model as for a small one.")
    def test_cheap(self, ranks):
        """Only a few bytes are sent for a model of 400 kB, and the model is left as it was."""
        for rank, (sent, changed) in enumerate(ranks(2, on_rank.cost)):
            assert sent < on_rank.FEW, f"rank {rank} sends {sent} bytes"
            assert not changed, f"afterwards rank {rank}'s model has changed: {changed}"

    @hint("Take the mean of the others, without the slowest itself.")
    def test_slowest(self, ranks):
        """All ranks find the rank that computed longest, and its time relative to the others'
        mean.
        """
        times = [[1.0, 2.0, 90.0, 6.0], [3e-5, 1e-5, 1e-5, 2e-5], [5.0, 5.0, 5.0, 5.01]]
        for rank, said in enumerate(ranks(4, on_rank.slowest, times)):
            for seconds, (found, factor) in zip(times, said, strict=True):
                wanted = seconds.index(max(seconds))
                assert found == wanted, (
                    f"of {seconds}, rank {rank} names rank {found} as the slowest"
                )
                right = seconds[wanted] * 3 / (sum(seconds) - seconds[wanted])
                assert abs(factor - right) < 1e-3, (
                    f"of {seconds}, rank {rank} says {factor:.3f} times, not {right:.3f}"
                )
