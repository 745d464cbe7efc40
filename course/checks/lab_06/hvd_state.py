"""Checks of `hvd_state`, exercise 1 of lab 06."""

from course.checks.lab_06 import on_rank_hvd_state as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestHvdState:
    """Exercise 1: all ranks start from one state."""

    @hint("Whose values count here, and which three forms can `params` have?")
    def test_parameters(self, ranks):
        """All ranks get the root's tensors, given as a dict, as pairs or bare, of any dtype
        (3 ranks, root 1).
        """
        for rank, (forms, dtypes) in enumerate(ranks(3, on_rank.parameters, 1)):
            for form, off in forms.items():
                assert off == 0, (
                    f"given as {form}, rank {rank}'s tensors differ from rank 1's by {off:.2g}"
                )
            for dtype, (got, expected) in dtypes.items():
                assert got == expected, (
                    f"rank 1 has {expected} in {dtype}, and rank {rank} gets {got}"
                )

    @hint("Start every broadcast first, and keep the handles. Wait afterwards.")
    def test_together(self, ranks):
        """All broadcasts have begun before the first is waited for, and all have ended when
        broadcast_parameters returns.
        """
        for begun, tensors, under_way in ranks(2, on_rank.begun_before_waiting):
            assert begun == tensors, (
                f"{begun} of {tensors} broadcasts have begun when the first is waited for"
            )
            assert under_way == 0, (
                f"broadcast_parameters returns while {under_way} of {tensors} broadcasts are "
                "under way"
            )

    @hint(
        "The room for the bytes must be as long as those of the root. Where does a rank learn it?"
    )
    def test_object(self, ranks):
        """All ranks get the root's object, be it shorter or longer than their own."""
        for rank, by_root in enumerate(ranks(3, on_rank.objects)):
            for root, (described, listed, _) in by_root.items():
                expected = (root, (3, 40_000, 10)[root])
                assert described == expected, (
                    f"of rank {root}'s object rank {rank} gets {described}, not {expected}"
                )
                assert listed == [root] * (root + 1), (
                    f"of rank {root}'s list rank {rank} gets {listed}"
                )

    @hint("One message for the length and one for the bytes are enough.")
    def test_object_messages(self, ranks):
        """An object takes two operations: its length and its bytes, no more than it has."""
        _, _, sent = ranks(2, on_rank.objects)[0][1]
        assert len(sent) == 2, f"an object should take two operations; yours takes {len(sent)}"
        assert max(sent) < 10_000, f"for a list of two numbers {max(sent)} bytes are sent"

    @hint("In which format does the length travel? float32 counts up to 16,777,216.")
    def test_large_object(self, ranks):
        """An object of 16 MiB and one byte arrives as it is."""
        for rank, got in enumerate(ranks(2, on_rank.large_object)):
            assert got == on_rank.LARGE, (
                f"of a tensor of {on_rank.LARGE} bytes rank {rank} gets {got}"
            )

    @hint(
        "An optimizer's state has the momenta and step counts, and also its options. Who loads it?"
    )
    def test_optimizer(self, ranks):
        """Momenta, step counts and options come from the root, on ranks above and below it; the
        steps that follow are those of one process.
        """
        for rank, made in enumerate(ranks(3, on_rank.optimizer_state)):
            for case, (options, expected, off) in made.items():
                assert options == expected, (
                    f"{case}: rank {rank} has the options {options}, the root {expected}"
                )
                assert off < CLOSE, (
                    f"{case}: two steps on, rank {rank}'s weights are off by {off:.2g}"
                )
