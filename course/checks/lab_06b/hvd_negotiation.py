"""Checks of `hvd_negotiation`, exercise 1 of lab 06b."""

from course.checks.lab_06b import on_rank_hvd_negotiation as on_rank
from course.checks.tools.hint import Failure, hint

# By what the ranks differ in: what all requests have, what each rank's has, and what an error has
# to say beside the operation's name.
DISAGREEMENTS = {
    "shape": ({}, [{"shapes": ((rows, 3),)} for rows in (21, 22, 23)], ("21", "22", "23")),
    "the columns of an allgather": (
        {"kind": "allgather"},
        [{"shapes": ((rows, rows + 10),)} for rows in (61, 62, 63)],
        ("71", "72", "73"),
    ),
    "order of dimensions": (
        {},
        [{"shapes": (shape,)} for shape in ((31, 42), (42, 31), (42, 31, 1))],
        ("31", "42"),
    ),
    "dtype": (
        {},
        [{"dtype": dtype} for dtype in ("float32", "float16", "float64")],
        ("float32", "float16", "float64"),
    ),
    "device": ({}, [{"device": device} for device in ("cpu", "cuda", "cpu")], ("cpu", "cuda")),
    "op": ({}, [{"op": op} for op in ("Average", "Max", "Sum")], ("Average", "Max", "Sum")),
    "root": (
        {"kind": "broadcast"},
        [{"root": root} for root in (51, 52, 53)],
        ("51", "52", "53"),
    ),
    "factors": (
        {},
        [{"factors": factors} for factors in ((0.25, 4.0), (0.125, 8.0), (0.75, 2.0))],
        ("0.25", "0.125", "0.75"),
    ),
    "kind": (
        {},
        [{"kind": kind} for kind in ("allgather", "allreduce", "broadcast")],
        ("allgather", "allreduce", "broadcast"),
    ),
    "number of tensors": (
        {},
        [{"shapes": ((61,), (62,), (63,))[:count]} for count in (1, 2, 3)],
        ("61", "62", "63"),
    ),
    "second tensor": (
        {},
        [{"shapes": ((3,), (rows,))} for rows in (21, 22, 23)],
        ("21", "22", "23"),
    ),
    "columns of an allgather": (
        {"kind": "allgather"},
        [{"shapes": ((2, columns),)} for columns in (21, 22, 23)],
        ("21", "22", "23"),
    ),
    "rows of a broadcast": (
        {"kind": "broadcast"},
        [{"shapes": ((rows, 3),)} for rows in (21, 22, 23)],
        ("21", "22", "23"),
    ),
}

BY_RANK = [((1,),), ((2,),), ((3,),)]  # what the three ranks ask for, under each name
IN_ORDER = (
    "All requests are there, but an answer lists them by rank. In which order did you hear them?"
)


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
                fault = f"{key[0]!r} is answered with requests of shapes {shapes}, not {BY_RANK}"
                if sorted(shapes) == BY_RANK != shapes:
                    raise Failure(fault, IN_ORDER)
                assert shapes == BY_RANK, fault

    @hint("What has been answered is over: does your table still know it?")
    def test_waits_for_all(self, alone):
        """Nothing is answered before the last rank has asked, and nothing twice."""
        first = [(0, ("x", {})), (0, ("y", {}))]
        got = alone(on_rank.cycles, first, [(1, ("y", {}))], [], [(1, ("x", {}))], [])
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

    @hint(
        "Which operation was heard first? It may not be the one that was complete first, and a "
        "`set` of names forgets the order."
    )
    def test_order(self, alone):
        """Operations that become ready in one cycle are answered in the order in which they were
        first heard, whatever their names.
        """
        for order in ("abcdefgh", "hgfedcba", "cahgbedf", "fdbehgac"):
            first = [(rank, (name, {})) for rank, name in zip((0, 1) * 4, order, strict=True)]
            second = [
                (1 - rank, expected)
                for rank, expected in sorted(first, key=lambda request: request[1][0])
            ]
            got = [key[0] for key, _, _ in alone(on_rank.cycles, first, second)[1]]
            assert got == list(order), (
                f"first heard in the order {', '.join(order)}; your answers come in the order "
                f"{', '.join(got)}"
            )

    @hint("With a fault the matter is settled, so nobody needs to wait for the other ranks.")
    def test_fault(self, alone):
        """What any rank has refused is answered at once, with its reason."""
        refusal = ("x", {"fault": "used twice", "shapes": ((7,),)})  # other numbers than the rest
        for refuser in range(3):
            for asking in ({0, refuser}, {0, 1, 2}):
                requests = [(rank, refusal if rank == refuser else ("x", {})) for rank in asking]
                got = alone(on_rank.cycles, requests, [], size=3)
                errors = [[error for _, _, error in cycle] for cycle in got]
                assert errors == [["used twice"], []], (
                    f"rank {refuser} of three has refused: the answers of two cycles should have "
                    f"the errors [['used twice'], []]; yours have {errors}"
                )

    @hint("Answered is answered: which of your tables still has an entry for it?")
    def test_forgets(self, alone):
        """What is answered is forgotten: the tables do not grow with the steps."""
        early, late = alone(on_rank.kept)
        assert late == early, (
            f"after 10 answered operations your tables have {early} entries, after 60 they have "
            f"{late}"
        )

    @hint("Compare one aspect after another, and write down what each rank has.")
    def test_disagreement(self, alone):
        """A difference in shape, dtype, device, op, root, factors or kind is an error that says
        who has what.
        """
        cases = {case: (usual, requests) for case, (usual, requests, _) in DISAGREEMENTS.items()}
        for case, (odd, error, turned) in alone(on_rank.disagreements, cases).items():
            silent = [rank for rank, text in enumerate(odd) if not text]
            assert not silent, (
                f"only rank {silent[0]} of three differs in {case}: there is no error"
            )
            missing = [word for word in ("grad", *DISAGREEMENTS[case][2]) if word not in error]
            assert not missing, (
                f"ranks that differ in {case} are told {error!r}, without {', '.join(missing)}"
            )
            assert error != turned, (
                f"ranks that differ in {case} are told {error!r}, and the same when each has what "
                "another had: which rank has what?"
            )

    @hint("One kind of operation is made for ranks with different numbers of rows. Which?")
    def test_rows_may_differ(self, alone):
        """Different numbers of rows in an allgather are no disagreement."""
        rows = {"allgather": ({"kind": "allgather"}, [{"shapes": ((n,),)} for n in (3, 7, 0)])}
        _, error, _ = alone(on_rank.disagreements, rows)["allgather"]
        assert not error, f"the rows of an allgather may differ, but it gets the error: {error}"

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
        assert got[3] == {"later": [1, 2], "last": [0, 1]}, (
            "ranks 0 and 2 asked at 12 s; at 18 s 'later' waits for ranks 1 and 2, 'last' for "
            f"ranks 0 and 1; yours reports {got[3]}"
        )
