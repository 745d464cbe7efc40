"""Checks of `hvd_fusion`, exercise 2 of lab 06."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE
from course.checks.lab_06 import on_rank_hvd_fusion as on_rank


class TestHvdFusion:
    """Exercise 2: which operations share a message?"""

    @hint("one that fits joins; one that does not opens the next")
    def test_threshold(self, alone):
        """Messages are filled up to the threshold and never beyond; what is larger goes alone."""
        wanted = [("a", 40, {}), ("b", 60, {}), ("c", 1, {}), ("d", 500, {}), ("e", 2, {})]
        cases = {100: ["ab", "ce", "d"], 1000: ["abcde"], 41: ["ac", "b", "d", "e"]}
        found = alone(on_rank.fuse, *((threshold, wanted) for threshold in cases))
        for threshold, got in zip(cases, found, strict=True):
            assert sorted(got) == cases[threshold], (
                f"a to e of 40, 60, 1, 500 and 2 B with a threshold of {threshold} B share as {got}"
            )

    @hint("a threshold of 0 is how one switches fusion off")
    def test_off(self, alone):
        """With a threshold of 0 every operation has its own message."""
        (got,) = alone(on_rank.fuse, (0, [("a", 4, {}), ("b", 4, {})]))
        assert got == ["a", "b"], f"with a threshold of 0, two operations go as {got}"

    @hint("what is in one buffer is added up by one call: what must its parts have in common?")
    def test_alike(self, alone):
        """Only all-reduces of the same dtype, device, op and factors share a message."""
        differences = (
            {"dtype": "float16"},
            {"device": "cuda"},
            {"op": "Sum"},
            {"factors": (0.5, 2.0)},
            {"kind": "allgather"},
        )
        cases = [(100, [("a", 4, {}), ("b", 4, difference)]) for difference in differences]
        for difference, got in zip(differences, alone(on_rank.fuse, *cases), strict=True):
            assert sorted(got) == ["a", "b"], f"one with {difference} shares a message: {got}"

    @hint("a broadcast has its own root and its own call")
    def test_others_alone(self, alone):
        """Everything but an all-reduce goes alone, even two of a kind."""
        kinds = ("broadcast", "allgather", "alltoall", "reducescatter", "barrier")
        cases = [(100, [("a", 4, {"kind": kind}), ("b", 4, {"kind": kind})]) for kind in kinds]
        for kind, got in zip(kinds, alone(on_rank.fuse, *cases), strict=True):
            assert got == ["a", "b"], f"two operations of kind {kind} go as {got}"

    @hint("do not only look at the last message")
    def test_looks_ahead(self, alone):
        """One that does not fit, or is of another kind, does not stop a later one that does."""
        other = {"dtype": "float64"}
        wanted = [("a", 50, {}), ("b", 80, {}), ("c", 8, other), ("d", 50, {}), ("e", 8, other)]
        (got,) = alone(on_rank.fuse, (100, wanted))
        assert sorted(got) == ["ad", "b", "ce"], (
            f"a and d fit together, c and e as well; it makes {got}"
        )
        assert got == ["ad", "b", "ce"], (
            f"the first of each message come in the order {[batch[0] for batch in got]}"
        )

    @hint("the buffer's first elements, as many as there are, and no other memory")
    def test_pack(self, ranks):
        """pack writes all elements to the beginning of the buffer, and leaves the tensors
        as they were.
        """
        for got in ranks(2, on_rank.packed):
            assert got["elements"] == 13, (
                f"four tensors of 13 elements are packed as {got['elements']}"
            )
            assert got["shared"], "the flat tensor is not in the buffer"
            assert got["beyond"], (
                "the buffer is resized, or more of it is written than the tensors need"
            )
            assert got["unchanged"], "the tensors themselves are changed"

    @hint(
        "copy into the tensors that were given; another tensor of the same name is nobody's result"
    )
    def test_unpack(self, ranks):
        """Packed, reduced in one message and unpacked, the tensors are what they are one by one
        (2 ranks).
        """
        for got in ranks(2, on_rank.packed):
            assert got["off"] < CLOSE, f"an element is off by {got['off']:.2g}"
