"""Checks of `hvd_optimizer`, exercise 4 of lab 06."""

from course.checks.engine.hint import hint
from course.checks.engine.reference import CLOSE, OPTIMIZERS, Small, furthest, train_alone
from course.checks.lab_06 import on_rank_hvd_optimizer as on_rank

PARAMETERS = [name for name, _ in Small(seed=0).named_parameters()]


class TestHvdOptimizer:
    """Exercise 4: gradients that are reduced while backward runs."""

    def assert_close(self, ranks, world_size: int, variants: dict[str, dict]) -> None:
        """Gradients are what torch's collectives make of them, for each set of options."""
        for off_by in ranks(world_size, on_rank.averages, variants):
            for name, off in off_by.items():
                close = 2e-3 if "fp16" in name else CLOSE
                assert off < close, f"{world_size} ranks, {name}: a gradient is off by {off:.2g}"

    @hint("what does the handle's operation work on, and what does `step` use?")
    def test_average(self, ranks):
        """After synchronize(), every gradient is the average over the ranks (3 ranks)."""
        self.assert_close(ranks, 3, {"as it comes": {}})

    @hint("is anything left of the step before?")
    def test_same_as_one_process(self, ranks):
        """Training gives the weights of one process on the whole batch: SGD, momentum, AdamW,
        tied and frozen.
        """
        pairs = [*(("plain", name) for name in OPTIMIZERS), ("tied", "SGD"), ("frozen", "SGD")]
        for rank, trained in enumerate(ranks(2, on_rank.train, pairs)):
            for (kind, optimizer), got in trained.items():
                off = furthest(got, train_alone(kind, optimizer, 3, 2))
                assert off < CLOSE, (
                    f"{optimizer}, {kind} model: rank {rank}'s weights are off by {off:.2g}"
                )

    @hint("the hook is called for each parameter while backward goes on")
    def test_during_backward(self, ranks):
        """All-reduces begin while backward runs, wait for nothing, and do so again
        in the next step.
        """
        for counts in ranks(2, on_rank.during_backward, 2):
            for step, (early, begun, waited) in enumerate(counts):
                assert early > 0, (
                    f"step {step}: nothing has begun when backward reaches the first layer"
                )
                assert not waited, f"step {step}: backward waits for an operation"
                assert begun == len(PARAMETERS), f"step {step}: backward begins {begun} operations"

    @hint(
        "another rank may have used what this one has not; and the name tells which gradient it is"
    )
    def test_unused_and_orders(self, ranks):
        """A parameter unused on one rank counts as zero there; layers in different orders
        change nothing.
        """
        for unused, orders in ranks(2, on_rank.unused):
            assert unused < CLOSE, (
                f"with a head that rank 1 does not use, the weights are off by {unused:.2g}"
            )
            assert orders < CLOSE, (
                f"with heads in different orders, the weights are off by {orders:.2g}"
            )

    @hint("count down for each parameter; only the last pass sends")
    def test_passes(self, ranks):
        """With three passes a step, gradients add up, travel after the third, and are averaged
        over the ranks.
        """
        for begun, off in ranks(2, on_rank.accumulated, 3):
            assert begun == [0, 0, len(PARAMETERS)], f"the three passes begin {begun} operations"
            assert off < CLOSE, f"the gradients differ from the average of the sums by {off:.2g}"

    @hint(
        "a parameter's name is the operation's name, or ranks in different orders cannot find each "
        "other"
    )
    def test_requests(self, ranks):
        """Each gradient is asked for under its name, with the op, the factors and the compression
        that were chosen.
        """
        variants = {
            "as it comes": {},
            "sum": {"op": "Sum"},
            "predivided": {"gradient_predivide_factor": 4.0},
            "fp16": {"compression": "fp16"},
            "three groups": {"groups": 3},
        }
        asked = ranks(2, on_rank.requests, variants)[0]
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
        """Compression, groups, a predivide factor and a sum give the gradients
        that they promise.
        """
        variants = {
            "fp16": {"compression": "fp16"},
            "3 groups": {"groups": 3},
            "lists as groups": {"groups": "two lists"},
            "predivided by 4": {"gradient_predivide_factor": 4.0},
            "op=Sum": {"op": "Sum"},
        }
        self.assert_close(ranks, 2, variants)

    @hint("what has been synchronized must not be sent again by `step`")
    def test_clipping(self, ranks):
        """synchronize(), clip, and step within skip_synchronize(): one all-reduce a gradient,
        clipped averages.
        """
        for off, sent in ranks(2, on_rank.clipped):
            assert sent == len(PARAMETERS), f"{sent} operations for {len(PARAMETERS)} gradients"
            assert off < CLOSE, f"the weights are off by {off:.2g}"
