"""Checks of lab 06: negotiation by name, tensor fusion, the broadcast of a state, and DistributedOptimizer."""

from course.checks.engine.catalogue import hint
from course.checks.engine.reference import OPTIMIZERS, Small, furthest, train_alone
from course.checks.lab_06 import on_rank_with_engine as with_engine
from course.checks.lab_06 import on_rank_without_engine as on_rank

CLOSE = 1e-5  # float32, different orders of summation
PARAMETERS = [name for name, _ in Small(seed=0).named_parameters()]


class TestHvdNegotiation:
    """Exercise 1: which operations do all ranks want?"""

    exercise = "hvd_negotiation"

    @hint(
        "the key says which requests belong together, whatever the order and the cycle in which they are heard"
    )
    def test_by_name(self, ranks):
        """Three ranks ask in three different orders; all get the same answers, each with every rank's request."""
        first, *others = ranks(3, on_rank.own_orders)
        for rank, answers in enumerate(others, start=1):
            assert answers == first, (
                f"ranks 0 and {rank} get different answers: {first} and {answers}"
            )
        names = [key[0] for cycle in first for key, _, _ in cycle]
        assert sorted(names) == list("abcdef"), (
            f"of the operations a to f the ranks are told {names}"
        )
        for cycle in first:
            for key, shapes, error in cycle:
                assert not error, f"nothing is wrong with {key[0]!r}, and yet: {error}"
                assert shapes == [((1,),), ((2,),), ((3,),)], (
                    f"{key[0]!r} is answered with requests of shapes {shapes}"
                )

    @hint("what has been answered is over")
    def test_waits_for_all(self, ranks):
        """Nothing is answered before the last rank has asked, and nothing twice."""
        one = [(0, ("x", {})), (0, ("y", {}))]
        got = ranks(1, on_rank.cycles, one, [(1, ("y", {}))], [], [(1, ("x", {}))], [])[0]
        names = [[key[0] for key, _, _ in cycle] for cycle in got]
        assert names == [[], ["y"], [], ["x"], []], (
            f"asked x, y | y | nothing | x | nothing, it answers {names}"
        )

    @hint(
        "the first use of a name on one rank belongs to its first use on the others, however far ahead a rank is"
    )
    def test_uses(self, ranks):
        """A name can be used again in the next step, and a rank that is a step ahead is not mixed up."""
        ahead = [(0, ("x", {"shapes": ((use,),), "use": use})) for use in (1, 2)]
        behind = [[(1, ("x", {"shapes": ((use,),), "use": use}))] for use in (1, 2)]
        got = ranks(1, on_rank.cycles, ahead, *behind, [])[0]
        keys = [[key for key, _, _ in cycle] for cycle in got]
        assert keys == [[], [("x", 1)], [("x", 2)], []], f"the uses are answered as {keys}"
        assert not any(error for cycle in got for _, _, error in cycle), (
            "uses of equal shape are said to differ"
        )

    @hint("look for the first that was heard, not for the first that was complete")
    def test_order(self, ranks):
        """Operations that become ready in one cycle are answered in the order in which they were first heard."""
        one = [(1, ("late", {})), (0, ("z", {})), (0, ("a", {}))]
        two = [(1, ("a", {})), (1, ("z", {})), (0, ("late", {}))]
        got = [key[0] for key, _, _ in ranks(1, on_rank.cycles, one, two)[0][1]]
        assert got == ["late", "z", "a"], f"first heard were late, z, a; the answers come as {got}"

    @hint("a fault is an answer: nobody has to wait for the others, and all are told")
    def test_fault(self, ranks):
        """What one rank has refused is answered at once, with its reason."""
        got = ranks(1, on_rank.cycles, [(0, ("x", {"fault": "used twice"}))], [])[0]
        errors = [[error for _, _, error in cycle] for cycle in got]
        assert errors == [["used twice"], []], f"after a refusal the answers' errors are {errors}"

    @hint("compare what the ranks want, one aspect after another, and write down what each has")
    def test_disagreement(self, ranks):
        """A difference in shape, dtype, device, op, root, factors or kind is an error that says who has what."""
        cases = {
            "shape": ({"shapes": ((2, 3),)}, {"shapes": ((3, 2),)}, ("(2, 3)", "(3, 2)")),
            "dtype": ({}, {"dtype": "float16"}, ("float32", "float16")),
            "device": ({}, {"device": "cuda"}, ("cpu", "cuda")),
            "op": ({}, {"op": "Max"}, ("Average", "Max")),
            "root": ({"kind": "broadcast", "root": 5}, {"kind": "broadcast", "root": 7}, ("5", "7")),
            "factors": ({}, {"factors": (0.25, 4.0)}, ("1.0", "0.25")),
            "kind": ({"kind": "allgather"}, {"kind": "allreduce"}, ("allgather", "allreduce")),
            "number of tensors": ({"shapes": ((3,), (4,))}, {"shapes": ((3,),)}, ("(4,)", "(3,)")),
            "dimensions of a gather": (
                {"kind": "allgather", "shapes": ((2, 3),)}, {"kind": "allgather", "shapes": ((2, 4),)},
                ("(2, 3)", "(2, 4)"),
            ),
        }  # fmt: skip
        errors = ranks(
            1,
            on_rank.disagreements,
            {case: (first, others) for case, (first, others, _) in cases.items()},
        )
        for case, error in errors[0].items():
            assert error, f"ranks that differ in {case} are let through"
            missing = [
                word for word in ("grad", *cases[case][2], "rank 0", "rank 2") if word not in error
            ]
            assert not missing, (
                f"ranks that differ in {case} are told {error!r}, without {', '.join(missing)}"
            )

    @hint("which kinds of operation are made for ranks that have different numbers of rows?")
    def test_rows_may_differ(self, ranks):
        """Different rows in an allgather or alltoall, and different splits of one, are no disagreement."""
        cases = {
            "allgather": ({"kind": "allgather"}, {"kind": "allgather", "shapes": ((7,),)}),
            "alltoall": (
                {"kind": "alltoall", "splits": (1, 1, 1)},
                {"kind": "alltoall", "shapes": ((5,),), "splits": (0, 2, 3)},
            ),
        }
        for kind, error in ranks(1, on_rank.disagreements, cases)[0].items():
            assert not error, f"an {kind} with different rows is refused: {error}"

    @hint("since when does the first of the ranks wait, and who has not asked yet?")
    def test_missing(self, ranks):
        """An operation that waits too long is reported, with the ranks that it waits for."""
        got = ranks(1, on_rank.missing)[0]
        assert got[0] == {}, f"asked at 5 s, with a patience of 5 s, at 10 s it is told {got[0]}"
        assert got[1] == {"early": [0]}, (
            f"ranks 1 and 2 asked at 5 and 9 s; at 11 s it is told {got[1]}, not rank 0"
        )
        assert got[2] == {}, f"when all have come, and another waits for 3 s, it is told {got[2]}"
        assert got[3] == {"later": [1, 2]}, (
            f"rank 0 asked at 12 s; at 18 s it is told {got[3]}, not ranks 1 and 2"
        )


class TestHvdFusion:
    """Exercise 2: which operations share a message?"""

    exercise = "hvd_fusion"

    @hint("one that fits joins; one that does not opens the next")
    def test_threshold(self, ranks):
        """Messages are filled up to the threshold and never beyond; what is larger goes alone."""
        wanted = [("a", 40, {}), ("b", 60, {}), ("c", 1, {}), ("d", 500, {}), ("e", 2, {})]
        cases = {100: ["ab", "ce", "d"], 1000: ["abcde"], 41: ["ac", "b", "d", "e"]}
        for threshold, got in zip(
            cases, ranks(1, on_rank.fuse, *((t, wanted) for t in cases))[0], strict=True
        ):
            assert sorted(got) == cases[threshold], (
                f"a to e of 40, 60, 1, 500 and 2 B with a threshold of {threshold} B share as {got}"
            )

    @hint("a threshold of 0 is how one switches fusion off")
    def test_off(self, ranks):
        """With a threshold of 0 every operation has its own message."""
        (got,) = ranks(1, on_rank.fuse, (0, [("a", 4, {}), ("b", 4, {})]))[0]
        assert got == ["a", "b"], f"with a threshold of 0, two operations go as {got}"

    @hint("what is in one buffer is added up by one call: what must its parts have in common?")
    def test_alike(self, ranks):
        """Only all-reduces of the same dtype, device, op and factors share a message."""
        differences = (
            {"dtype": "float16"}, {"device": "cuda"}, {"op": "Sum"}, {"factors": (0.5, 2.0)}, {"kind": "allgather"},
        )  # fmt: skip
        cases = [(100, [("a", 4, {}), ("b", 4, difference)]) for difference in differences]
        for difference, got in zip(differences, ranks(1, on_rank.fuse, *cases)[0], strict=True):
            assert sorted(got) == ["a", "b"], f"one with {difference} shares a message: {got}"

    @hint("a broadcast has its own root and its own call")
    def test_others_alone(self, ranks):
        """Everything but an all-reduce goes alone, even two of a kind."""
        kinds = ("broadcast", "allgather", "alltoall", "reducescatter", "barrier")
        cases = [(100, [("a", 4, {"kind": kind}), ("b", 4, {"kind": kind})]) for kind in kinds]
        for kind, got in zip(kinds, ranks(1, on_rank.fuse, *cases)[0], strict=True):
            assert got == ["a", "b"], f"two operations of kind {kind} go as {got}"

    @hint("do not only look at the last message")
    def test_looks_ahead(self, ranks):
        """One that does not fit, or is of another kind, does not stop a later one that does."""
        other = {"dtype": "float64"}
        wanted = [("a", 50, {}), ("b", 80, {}), ("c", 8, other), ("d", 50, {}), ("e", 8, other)]
        (got,) = ranks(1, on_rank.fuse, (100, wanted))[0]
        assert sorted(got) == ["ad", "b", "ce"], (
            f"a and d fit together, c and e as well; it makes {got}"
        )
        assert got == ["ad", "b", "ce"], (
            f"the first of each message come in the order {[batch[0] for batch in got]}"
        )

    @hint("the buffer's first elements, as many as there are, and no other memory")
    def test_pack(self, ranks):
        """pack writes all elements to the beginning of the buffer, and leaves the tensors as they were."""
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
        """Packed, reduced in one message and unpacked, the tensors are what they are one by one (2 ranks)."""
        for got in ranks(2, on_rank.packed):
            assert got["off"] < CLOSE, f"an element is off by {got['off']:.2g}"


class TestHvdState:
    """Exercise 3: everybody starts from one state."""

    exercise = "hvd_state"

    @hint("which rank's values count, and what can `params` be?")
    def test_parameters(self, ranks):
        """All ranks get the root's tensors, given as a dict, as pairs or bare (3 ranks, root 1)."""
        for rank, forms in enumerate(ranks(3, with_engine.parameters, 1)):
            for form, off in forms.items():
                assert off == 0, (
                    f"given as {form}, rank {rank}'s tensors differ from rank 1's by {off:.2g}"
                )

    @hint("a list of handles first, then the waiting")
    def test_together(self, ranks):
        """All broadcasts have begun before the first is waited for."""
        begun, tensors = ranks(2, with_engine.begun_before_waiting)[0]
        assert begun == tensors, (
            f"{begun} of {tensors} broadcasts have begun when the first is waited for"
        )

    @hint("how long are the bytes of the *root*?")
    def test_object(self, ranks):
        """All ranks get the root's object, be it shorter or longer than their own."""
        for rank, by_root in enumerate(ranks(3, with_engine.objects)):
            for root, (described, listed, _) in by_root.items():
                wanted = (root, (3, 40_000, 10)[root])
                assert described == wanted, (
                    f"of rank {root}'s object rank {rank} gets {described}, not {wanted}"
                )
                assert listed == [root] * (root + 1), (
                    f"of rank {root}'s list rank {rank} gets {listed}"
                )

    @hint("one message for the length, one for the bytes")
    def test_object_messages(self, ranks):
        """An object takes two operations: its length and its bytes."""
        _, _, sent = ranks(2, with_engine.objects)[0][1]
        assert sent == 2, f"an object takes {sent} operations"

    @hint("an optimizer's state is more than its learning rate, and more than its momenta")
    def test_optimizer(self, ranks):
        """Momenta, step counts and options come from the root; the steps that follow are those of one process."""
        for rank, made in enumerate(ranks(2, with_engine.optimizer_state)):
            for name, (rate, off) in made.items():
                assert rate == 0.02, (
                    f"{name}: rank {rank} has the learning rate {rate}, the root 0.02"
                )
                assert off < CLOSE, (
                    f"{name}: two steps on, rank {rank}'s weights are off by {off:.2g}"
                )


class TestHvdOptimizer:
    """Exercise 4: gradients that are reduced while backward runs."""

    exercise = "hvd_optimizer"

    def assert_close(
        self, ranks, world_size: int, variants: dict[str, dict], passes: int = 1
    ) -> None:
        """Gradients are what torch's collectives make of them, for each set of options."""
        for off_by in ranks(world_size, with_engine.averages, variants, passes):
            for name, off in off_by.items():
                close = 2e-3 if "fp16" in name else CLOSE
                assert off < close, f"{world_size} ranks, {name}: a gradient is off by {off:.2g}"

    @hint("what does the handle's operation work on, and what does `step` use?")
    def test_average(self, ranks):
        """After synchronize(), every gradient is the average over the ranks (3 ranks)."""
        self.assert_close(ranks, 3, {"as it comes": {}})

    @hint("is anything left of the step before?")
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch: SGD, momentum, AdamW, tied and frozen."""
        pairs = [*(("plain", name) for name in OPTIMIZERS), ("tied", "SGD"), ("frozen", "SGD")]
        for rank, trained in enumerate(ranks(2, with_engine.train, pairs)):
            for (kind, optimizer), got in trained.items():
                off = furthest(got, train_alone(kind, optimizer, 3, 2))
                assert off < CLOSE, (
                    f"{optimizer}, {kind} model: rank {rank}'s weights are off by {off:.2g}"
                )

    @hint("the hook is called for each parameter while backward goes on")
    def test_during_backward(self, ranks):
        """All-reduces begin while backward runs, wait for nothing, and do so again in the next step."""
        for counts in ranks(2, with_engine.during_backward, 2):
            for step, (early, all_of_them) in enumerate(counts):
                assert early > 0, (
                    f"step {step}: nothing has begun when backward reaches the first layer"
                )
                assert all_of_them != -1, f"step {step}: backward waits for an operation"
                assert all_of_them == len(PARAMETERS), (
                    f"step {step}: backward begins {all_of_them} operations"
                )

    @hint(
        "another rank may have used what this one has not; and the name tells which gradient it is"
    )
    def test_unused_and_orders(self, ranks):
        """A parameter unused on one rank counts as zero there; layers in different orders change nothing."""
        for unused, orders in ranks(2, with_engine.unused):
            assert unused < CLOSE, (
                f"with a head that rank 1 does not use, the weights are off by {unused:.2g}"
            )
            assert orders < CLOSE, (
                f"with heads in different orders, the weights are off by {orders:.2g}"
            )

    @hint("count down for each parameter; only the last pass sends")
    def test_passes(self, ranks):
        """With three passes a step, gradients add up, travel after the third, and are averaged over the ranks."""
        for begun, off in ranks(2, with_engine.accumulated, 3):
            assert begun == [0, 0, len(PARAMETERS)], f"the three passes begin {begun} operations"
            assert off < CLOSE, f"the gradients differ from the average of the sums by {off:.2g}"

    @hint(
        "a parameter's name is the operation's name, or ranks in different orders cannot find each other"
    )
    def test_requests(self, ranks):
        """Each gradient is asked for under its name, with the op, the factors and the compression that were chosen."""
        variants = {
            "as it comes": {}, "sum": {"op": "Sum"}, "predivided": {"gradient_predivide_factor": 4.0},
            "fp16": {"compression": "fp16"}, "three groups": {"groups": 3},
        }  # fmt: skip
        asked = ranks(2, with_engine.requests, variants)[0]
        assert sorted(call[0] for call in asked["as it comes"]) == sorted(PARAMETERS), (
            "the names are not the parameters'"
        )
        assert {call[1] for call in asked["sum"]} == {"Sum"}, "op=Sum is not passed on"
        assert {call[4] for call in asked["predivided"]} == {(0.25, 4.0)}, (
            "the predivide factor is not passed on"
        )
        assert {call[2] for call in asked["fp16"]} == {"float16"}, (
            "with Compression.fp16 the gradients travel uncompressed"
        )
        sizes = [call[3] for call in asked["three groups"]]
        assert len(sizes) == 3 and sum(sizes) == len(PARAMETERS), (
            f"three groups make requests of {sizes} tensors"
        )

    @hint("what was compressed has to be restored; what travels together comes back one by one")
    def test_options(self, ranks):
        """Compression, groups, a predivide factor and a sum give the gradients that they promise."""
        variants = {
            "fp16": {"compression": "fp16"}, "3 groups": {"groups": 3}, "lists as groups": {"groups": "two lists"},
            "predivided by 4": {"gradient_predivide_factor": 4.0}, "op=Sum": {"op": "Sum"},
        }  # fmt: skip
        self.assert_close(ranks, 2, variants)

    @hint("what has been synchronized must not be sent again by `step`")
    def test_clipping(self, ranks):
        """synchronize(), clip, and step within skip_synchronize(): one all-reduce a gradient, clipped averages."""
        for off, sent in ranks(2, with_engine.clipped):
            assert sent == len(PARAMETERS), f"{sent} operations for {len(PARAMETERS)} gradients"
            assert off < CLOSE, f"the weights are off by {off:.2g}"
