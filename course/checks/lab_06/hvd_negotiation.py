"""Checks of `hvd_negotiation`, exercise 1 of lab 06."""

from course.checks.engine.hint import hint
from course.checks.lab_06 import on_rank_hvd_negotiation as on_rank

# By what the ranks differ in: the details of rank 0's request, those of the others, and the words
# that an error has to contain.
DISAGREEMENTS = {
    "shape": ({"shapes": ((2, 3),)}, {"shapes": ((3, 2),)}, ("(2, 3)", "(3, 2)")),
    "dtype": ({}, {"dtype": "float16"}, ("float32", "float16")),
    "device": ({}, {"device": "cuda"}, ("cpu", "cuda")),
    "op": ({}, {"op": "Max"}, ("Average", "Max")),
    "root": ({"kind": "broadcast", "root": 5}, {"kind": "broadcast", "root": 7}, ("5", "7")),
    "factors": ({}, {"factors": (0.25, 4.0)}, ("1.0", "0.25")),
    "kind": ({"kind": "allgather"}, {"kind": "allreduce"}, ("allgather", "allreduce")),
    "number of tensors": ({"shapes": ((3,), (4,))}, {"shapes": ((3,),)}, ("(4,)", "(3,)")),
    "dimensions of a gather": (
        {"kind": "allgather", "shapes": ((2, 3),)},
        {"kind": "allgather", "shapes": ((2, 4),)},
        ("(2, 3)", "(2, 4)"),
    ),
}


class TestHvdNegotiation:
    """Exercise 1: which operations do all ranks want?"""

    @hint(
        "The key says which requests belong together, whatever the order and the cycle in which "
        "you hear them."
    )
    def test_by_name(self, ranks):
        """Three ranks ask in three different orders; all get the same answers, each with every
        rank's request.
        """
        first, *others = ranks(3, on_rank.own_orders)
        for rank, answers in enumerate(others, start=1):
            assert answers == first, (
                f"ranks 0 and {rank} get different answers: {first} and {answers}"
            )
        names = [key[0] for cycle in first for key, _, _ in cycle]
        assert sorted(names) == list("abcdef"), (
            f"the operations a to f should be answered once each; your answers are {names}"
        )
        for cycle in first:
            for key, shapes, error in cycle:
                assert not error, (
                    f"nothing is wrong with {key[0]!r}, but its answer has the error: {error}"
                )
                assert shapes == [((1,),), ((2,),), ((3,),)], (
                    f"{key[0]!r} is answered with requests of shapes {shapes}"
                )

    @hint("What has been answered is over: does your table still know it?")
    def test_waits_for_all(self, alone):
        """Nothing is answered before the last rank has asked, and nothing twice."""
        one = [(0, ("x", {})), (0, ("y", {}))]
        got = alone(on_rank.cycles, one, [(1, ("y", {}))], [], [(1, ("x", {}))], [])
        names = [[key[0] for key, _, _ in cycle] for cycle in got]
        assert names == [[], ["y"], [], ["x"], []], (
            f"asked x, y | y | nothing | x | nothing, yours answers {names}"
        )

    @hint(
        "The first use of a name on one rank belongs to its first use on the others, however far "
        "ahead a rank is. Which attribute of a request says so?"
    )
    def test_uses(self, alone):
        """A name can be used again in the next step, even if one rank is a step ahead."""
        ahead = [(0, ("x", {"shapes": ((use,),), "use": use})) for use in (1, 2)]
        behind = [[(1, ("x", {"shapes": ((use,),), "use": use}))] for use in (1, 2)]
        got = alone(on_rank.cycles, ahead, *behind, [])
        keys = [[key for key, _, _ in cycle] for cycle in got]
        assert keys == [[], [("x", 1)], [("x", 2)], []], f"the uses are answered as {keys}"
        assert not any(error for cycle in got for _, _, error in cycle), (
            "an answer has an error although the shapes of both ranks are equal"
        )

    @hint("Which operation was heard first? It may not be the one that was complete first.")
    def test_order(self, alone):
        """Operations that become ready in one cycle are answered in the order in which they were
        first heard.
        """
        one = [(1, ("late", {})), (0, ("z", {})), (0, ("a", {}))]
        two = [(1, ("a", {})), (1, ("z", {})), (0, ("late", {}))]
        got = [key[0] for key, _, _ in alone(on_rank.cycles, one, two)[1]]
        assert got == ["late", "z", "a"], (
            f"first heard were late, then z, then a; your answers come in the order {got}"
        )

    @hint("With a fault the matter is settled, so nobody needs to wait for the other ranks.")
    def test_fault(self, alone):
        """What one rank has refused is answered at once, with its reason."""
        got = alone(on_rank.cycles, [(0, ("x", {"fault": "used twice"}))], [])
        errors = [[error for _, _, error in cycle] for cycle in got]
        assert errors == [["used twice"], []], (
            "rank 0 has refused: the answers of two cycles should have the errors "
            f"[['used twice'], []]; yours have {errors}"
        )

    @hint("Compare one aspect after another, and write down what each rank has.")
    def test_disagreement(self, alone):
        """A difference in shape, dtype, device, op, root, factors or kind is an error that says
        who has what.
        """
        cases = {case: (first, others) for case, (first, others, _) in DISAGREEMENTS.items()}
        for case, error in alone(on_rank.disagreements, cases).items():
            assert error, f"ranks that differ in {case} get no error"
            words = ("grad", *DISAGREEMENTS[case][2], "rank 0", "rank 2")
            missing = [word for word in words if word not in error]
            assert not missing, (
                f"ranks that differ in {case} are told {error!r}, without {', '.join(missing)}"
            )

    @hint("Two kinds of operation are made for ranks with different numbers of rows. Which?")
    def test_rows_may_differ(self, alone):
        """Different rows in an allgather or alltoall, and different splits of one, are no
        disagreement.
        """
        cases = {
            "allgather": ({"kind": "allgather"}, {"kind": "allgather", "shapes": ((7,),)}),
            "alltoall": (
                {"kind": "alltoall", "splits": (1, 1, 1)},
                {"kind": "alltoall", "shapes": ((5,),), "splits": (0, 2, 3)},
            ),
        }
        for kind, error in alone(on_rank.disagreements, cases).items():
            assert not error, f"the rows of an {kind} may differ, but it gets the error: {error}"

    @hint("Since when has the first rank been waiting, and who has not asked yet?")
    def test_missing(self, alone):
        """`missing` reports an operation that waits too long, with the ranks that it waits for."""
        got = alone(on_rank.missing)
        assert got[0] == {}, (
            f"asked at 5 s, with a patience of 5 s, nothing is late at 10 s; yours reports {got[0]}"
        )
        assert got[1] == {"early": [0]}, (
            "ranks 1 and 2 asked at 5 and 9 s, so at 11 s 'early' waits for rank 0; "
            f"yours reports {got[1]}"
        )
        assert got[2] == {}, f"nothing has waited for more than 5 s at 15 s; yours reports {got[2]}"
        assert got[3] == {"later": [1, 2]}, (
            f"rank 0 asked at 12 s; at 18 s 'later' waits for ranks 1 and 2; yours reports {got[3]}"
        )
