"""Checks of `hvd_fusion`, exercise 2 of lab 06b."""

import itertools

from course.checks.lab_06b import on_rank_hvd_fusion as on_rank
from course.checks.tools.hint import Failure, hint
from course.given.horovod import DTYPES

STAY_OPEN = "All messages stay open until the end. Do you look only at the last one?"


class TestHvdFusion:
    """Exercise 2: which operations share a message?"""

    @hint("A tensor joins a message that has room for it. What if none has?")
    def test_threshold(self, alone):
        """Messages are filled up to the threshold and never beyond; what is larger goes alone."""
        expected = [("a", 160, {}), ("b", 240, {}), ("c", 4, {}), ("d", 2000, {}), ("e", 8, {})]
        cases = {400: ["ab", "ce", "d"], 4000: ["abcde"], 164: ["ac", "b", "d", "e"]}
        messages = alone(on_rank.fuse, *((threshold, expected) for threshold in cases))
        for threshold, got in zip(cases, messages, strict=True):
            assert sorted(got) == cases[threshold], (
                "a to e of 160, 240, 4, 2000 and 8 B with a threshold of "
                f"{threshold} B share as {got}"
            )

    @hint("How many bytes does a number take, and whose bytes does a request name?")
    def test_bytes(self, alone):
        """What counts is bytes, of numbers in 16, 32 or 64 bits, and of all tensors of a group."""
        cases = {
            "float16": ([{"dtype": "float16"}] * 2, 80, ["ab"]),
            "float32": ([{}] * 2, 80, ["ab"]),
            "float64": ([{"dtype": "float64"}] * 2, 80, ["ab"]),
            "float64, a little less room": ([{"dtype": "float64"}] * 2, 79, ["a", "b"]),
            "float32, a as a group of two tensors": (
                [{"shapes": ((5,), (5,))}, {}],
                79,
                ["a", "b"],
            ),
        }
        requests = (
            (threshold, [("a", 40, first), ("b", 40, second)])
            for (first, second), threshold, _ in cases.values()
        )
        for (case, (_, threshold, expected)), got in zip(
            cases.items(), alone(on_rank.fuse, *requests), strict=True
        ):
            assert got == expected, (
                f"two operations of 40 B ({case}) with a threshold of {threshold} B go as {got}"
            )

    @hint("A threshold of 0 is how a user switches fusion off. Does any tensor fit into 0 bytes?")
    def test_off(self, alone):
        """With a threshold of 0 every operation has its own message."""
        (got,) = alone(on_rank.fuse, (0, [("a", 4, {}), ("b", 4, {})]))
        assert got == ["a", "b"], f"with a threshold of 0, two operations go as {got}"

    @hint(
        "One call adds up everything in a buffer. What do the parts of it need to have in common?"
    )
    def test_alike(self, alone):
        """Only all-reduces of the same dtype, device, op and factors share a message."""
        values = {
            "dtype": DTYPES,
            "device": ("cpu", "cuda"),
            "op": ("Average", "Sum", "Max"),
            "factors": ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.5, 2.0)),
            "kind": ("allreduce", "allgather"),
        }
        pairs = [
            ({field: first}, {field: second})
            for field, several in values.items()
            for first, second in itertools.combinations(several, 2)
        ]
        cases = [(100, [("a", 8, first), ("b", 8, second)]) for first, second in pairs]
        for (first, second), got in zip(pairs, alone(on_rank.fuse, *cases), strict=True):
            assert sorted(got) == ["a", "b"], f"one with {first} and one with {second} go as {got}"

    @hint("A broadcast has a root of its own. Could two of them be one call?")
    def test_others_alone(self, alone):
        """Everything but an all-reduce goes alone, even two of a kind."""
        kinds = ("broadcast", "allgather", "barrier")
        cases = [(100, [("a", 4, {"kind": kind}), ("b", 4, {"kind": kind})]) for kind in kinds]
        for kind, got in zip(kinds, alone(on_rank.fuse, *cases), strict=True):
            assert got == ["a", "b"], f"two operations of kind {kind} go as {got}"

    @hint(STAY_OPEN)
    def test_looks_ahead(self, alone):
        """One that does not fit, or is of another kind, does not stop a later one that does."""
        other = {"dtype": "float64"}
        expected = [
            ("a", 200, {}),
            ("b", 320, {}),
            ("c", 8, other),
            ("d", 200, {}),
            ("e", 8, other),
        ]
        (got,) = alone(on_rank.fuse, (400, expected))
        assert sorted(map(sorted, got)) == [["a", "d"], ["b"], ["c", "e"]], (
            f"a and d fit together, c and e as well; your fuse makes {got}"
        )
        assert got == ["ad", "b", "ce"], (
            "the messages, and what is in each, keep the order of the answers: ad, b, ce; yours "
            f"are {', '.join(got)}"
        )

    @hint(
        "The order of a `set` or of sorted names is not the order of the answers. Go through the "
        "answers themselves."
    )
    def test_order(self, alone):
        """Messages and what is in them keep the order of the answers, whatever their names."""
        dtype_of = dict(zip("abcdefgh", ("float32", "float64", "int64", "bool") * 2, strict=True))
        orders = ("abcdefgh", "hgfedcba", "cahgbedf", "fdbehgac")
        cases = ([(name, 8, {"dtype": dtype_of[name]}) for name in order] for order in orders)
        messages = alone(on_rank.fuse, *((100, case) for case in cases))
        for order, got in zip(orders, messages, strict=True):
            expected = list(
                dict.fromkeys(
                    "".join(other for other in order if dtype_of[other] == dtype_of[name])
                    for name in order
                )
            )
            fault = (
                f"of {', '.join(order)}, where two at a time have the same dtype, yours makes the "
                f"messages {', '.join(got)}; in the order of the answers they are "
                f"{', '.join(expected)}"
            )
            if len(got) > len(expected):
                raise Failure(fault, STAY_OPEN)
            assert got == expected, fault

    @hint("Use only the first elements of the buffer, and no other memory.")
    def test_pack(self, ranks):
        """`pack` writes all elements to the beginning of the buffer, and changes no tensor."""
        for got in ranks(2, on_rank.packed):
            assert got["elements"] == 13, (
                f"four tensors of 13 elements are packed as {got['elements']}"
            )
            assert got["shared"], "the flat tensor is not in the buffer"
            assert got["beyond"], (
                "the buffer has another size afterwards, or more of it is written than needed"
            )
            assert got["unchanged"], "pack has changed the tensors themselves"

    @hint(
        "Copy into the tensors that you were given. The program holds these tensors, so it would "
        "not see new ones."
    )
    def test_unpack(self, ranks):
        """Packed, reduced together and unpacked, each tensor is what it would be on its own,
        whatever its dtype.
        """
        for got in ranks(2, on_rank.packed):
            for dtype, differing in got["differing"].items():
                assert not differing, "after unpack, a {} is {} and not {}".format(
                    dtype, *differing[0]
                )
