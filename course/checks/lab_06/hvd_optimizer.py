"""Checks of `hvd_optimizer`, exercise 2 of lab 06."""

import math

from course.checks.lab_06 import on_rank_hvd_optimizer as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE, OPTIMIZERS, Small, furthest, train_alone

PARAMETERS = [name for name, _ in Small(seed=0).named_parameters()]


class TestHvdOptimizer:
    """Exercise 2: gradients that are reduced while backward runs."""

    def assert_close(self, ranks, world_size: int, variants: dict[str, dict]) -> None:
        """Gradients are what torch's collectives make of them, for each set of options."""
        for off_by in ranks(world_size, on_rank.averages, variants):
            for name, off in off_by.items():
                close = 2e-3 if "fp16" in name else CLOSE
                assert off < close, f"{world_size} ranks, {name}: a gradient is off by {off:.2g}"

    @hint("Which tensors does your operation change, and which ones does `step` use?")
    def test_average(self, ranks):
        """After synchronize(), every gradient is the average over the ranks (3 ranks)."""
        self.assert_close(ranks, 3, {"as it comes": {}})

    @hint("The scaler of lab 05 looks for inf and nan in the averages, so they may not get lost.")
    def test_overflow(self, ranks):
        """An inf or nan that one rank has is in the average of every rank."""
        for rank, (infinite, undefined) in enumerate(ranks(2, on_rank.overflowed)):
            assert infinite == [math.inf], (
                f"rank 1's gradient is inf, and the average on rank {rank} is {infinite[0]:g}"
            )
            assert math.isnan(undefined[0]), (
                f"rank 1's gradient is nan, and the average on rank {rank} is {undefined[0]:g}"
            )

    @hint("What is still noted from the step before, when the next one begins?")
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

    @hint("`_gradient_ready` is called while backward goes on: start the operation right there.")
    def test_during_backward(self, ranks):
        """All-reduces begin while backward runs and nothing waits for them, in every step."""
        for groups, expected in ((None, len(PARAMETERS)), (3, 3)):
            for counts in ranks(2, on_rank.during_backward, 2, groups):
                for step, (early, begun, waited) in enumerate(counts):
                    where = f"with groups={groups}, step {step}"
                    assert early > 0, (
                        f"{where}: the engine has been asked for nothing when backward reaches the "
                        "first layer"
                    )
                    assert not waited, f"{where}: backward waits for an operation to end"
                    assert begun == expected, (
                        f"{where}: backward begins {begun} operations for {expected} groups"
                    )

    @hint(
        "Another rank may have used a parameter that this rank has not. And which name does an "
        "operation need, if the ranks are in different orders?"
    )
    def test_unused_and_orders(self, ranks):
        """A parameter that one rank does not use counts as zero; the order of layers is free."""
        for counts in ranks(2, on_rank.unused):
            for case, off in counts.items():
                close = 2e-3 if "fp16" in case else CLOSE
                assert off < close, f"{case}, the weights are off by {off:.2g}"

    @hint("Each pass counts down, for each parameter. Which pass sends?")
    def test_passes(self, ranks):
        """With three passes per step, gradients add up and travel once, after the third pass."""
        for begun, off, off_unused in ranks(2, on_rank.accumulated, 3):
            assert begun == [0, 0, len(PARAMETERS)], (
                f"operations should begin in the third pass only; yours begin {begun} in the three"
            )
            assert off < CLOSE, f"the gradients differ from the average of the sums by {off:.2g}"
            assert off_unused < CLOSE, (
                "where rank 1 does not use a head in the second pass, the gradients differ from "
                f"the average of the sums by {off_unused:.2g}"
            )

    @hint(
        "Look at what the given part has noted for you, from `_names` to `_factors`. Which of it "
        "belongs in the request?"
    )
    def test_requests(self, ranks):
        """Each gradient is asked for when it is complete, under its name, with the op, the factors
        and the compression that were chosen.
        """
        variants = {
            "as it comes": {},
            "sum": {"op": "Sum"},
            "predivided": {"gradient_predivide_factor": 4.0},
            "fp16": {"compression": "fp16"},
            "three groups": {"groups": 3},
            "lists as groups": {"groups": "two lists"},
        }
        results = ranks(2, on_rank.requests, variants)[0]
        calls = {variant: result for variant, (result, _) in results.items()}
        assert sorted(call[0] for call in calls["as it comes"]) == sorted(PARAMETERS), (
            "the names of the operations are not those of the parameters"
        )
        ops = {call[1] for call in calls["sum"]}
        assert ops == {"Sum"}, f"with op=Sum the operations have {ops}"
        factors = {call[4] for call in calls["predivided"]}
        assert factors == {(0.25, 4.0)}, (
            "with gradient_predivide_factor=4 the factors before and after should be 0.25 and 4; "
            f"yours are {factors}"
        )
        assert {call[2] for call in calls["fp16"]} == {"float16"}, (
            "with Compression.fp16 the gradients travel as float32"
        )
        sizes = [call[3] for call in calls["three groups"]]
        assert len(sizes) == 3 and sum(sizes) == len(PARAMETERS), (
            f"three groups should make three requests; yours hold {sizes} tensors"
        )
        for variant, (_, off) in results.items():
            assert off < 2e-3, (
                f"{variant}: when the operations begin, their tensors are up to {off:.2g} away "
                "from this rank's gradients: is each gradient of a group complete by then?"
            )

    @hint(
        "What was compressed has to be restored, and a group brings back one tensor per parameter."
    )
    def test_options(self, ranks):
        """Compression, groups, a predivide factor and op=Sum give the gradients they promise."""
        variants = {
            "fp16": {"compression": "fp16"},
            "fp16 of a float64 model": {"compression": "fp16", "dtype": "float64"},
            "3 groups": {"groups": 3},
            "lists as groups": {"groups": "two lists"},
            "predivided by 4": {"gradient_predivide_factor": 4.0},
            "op=Sum": {"op": "Sum"},
        }
        self.assert_close(ranks, 2, variants)

    @hint("Within `skip_synchronize`, `step` must not send the gradients again.")
    def test_clipping(self, ranks):
        """synchronize(), clip, step within skip_synchronize(): averages are clipped, sent once."""
        for off, sent, under_way in ranks(2, on_rank.clipped):
            assert under_way == 0, (
                f"synchronize() returns while {under_way} of {sent} operations are under way"
            )
            assert sent == len(PARAMETERS), (
                f"there are {sent} operations for {len(PARAMETERS)} gradients"
            )
            assert off < CLOSE, f"the weights are off by {off:.2g}"

    @hint(
        "What does a rank have that goes on after an operation has failed? Let the error through."
    )
    def test_error(self, ranks):
        """Where the ranks' gradients do not fit together, step() raises what the engine says."""
        for rank, error in enumerate(ranks(2, on_rank.disagreeing)):
            assert error, (
                f"the weights have other shapes on rank 1, and step() on rank {rank} raises nothing"
            )
