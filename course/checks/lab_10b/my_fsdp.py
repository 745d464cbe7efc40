"""Checks of my_fsdp: weights that are whole only while their layer computes."""

from collections.abc import Callable
from itertools import groupby

from course.checks.lab_10.any_sharded import AnySharded
from course.checks.lab_10.on_rank_sharding import traffic
from course.checks.lab_10b import on_rank_my_fsdp as on_rank
from course.checks.tools.hint import Failure, Undecided, hint
from course.checks.tools.reference import CLOSE

BF16 = 1e-3  # after three steps; a rounding of a weight in bf16 is larger
FREE = "Its gradients are complete: who still needs the weights?"
FIRST = "Gathers travel one after another: which of the two is needed first?"


def following_of(phase: str, layer: int) -> int:
    """The layer that computes after this one; there may be none of that number."""
    return layer - 1 if phase == "backward" else layer + 1


class TestMyFsdp(AnySharded):
    """Exercise 1: weights, gradients and optimizer state sharded."""

    def compare(self, ranks: Callable, *case: object, **options: object) -> None:
        """As for every sharded model, but nothing is judged where old weights stay whole."""
        try:
            super().compare(ranks, *case, **options)
        except AssertionError:
            self.only_if_at_rest(ranks)
            raise

    def only_if_at_rest(self, ranks: Callable) -> None:
        """Leave a result undecided where parameters stay whole, and so keep old weights."""
        if any(whole for result in ranks(2, on_rank.at_rest) for whole in result.values()):
            raise Undecided("first, no parameter may stay whole: see its check") from None

    @hint("What you gather you must also free: after forward, and when the gradients are complete.")
    def test_sharded_at_rest(self, ranks):
        """After construction, after backward and after an evaluation no parameter is whole."""
        for rank, result in enumerate(ranks(2, on_rank.at_rest)):
            for moment, whole in result.items():
                assert not whole, (
                    f"after {moment}, rank {rank} still holds {len(whole)} whole parameters, "
                    f"the first is {whole[0]}"
                )

    @hint("At any time: the layer that computes, and one that is on its way.")
    def test_at_most_two_whole(self, ranks):
        """While a layer computes, it is whole and at most one other layer is."""
        for seen, _, reducing in ranks(2, on_rank.watched):
            for phase, layer, whole, *_ in seen:
                assert layer in whole, f"in {phase}, layer {layer} computes and is not whole"
                assert len(whole) <= 2, (
                    f"while layer {layer} computes in {phase}, layers {whole} are whole"
                )
            for layer, whole in reducing.items():
                if layer in whole:
                    raise Failure(f"while layer {layer} reduces its gradients, it is whole", FREE)

    @hint("Forward visits the layers in one order, and backward in the other: which is next?")
    def test_prefetch(self, ranks):
        """While a layer computes, the next is being gathered, in forward and in backward."""
        for seen, order, _ in ranks(2, on_rank.watched):
            ahead = [
                (*moment, following)
                for moment in seen
                if (following := following_of(*moment[:2])) in range(on_rank.LAYERS)
            ]
            for phase, layer, whole, *_, following in ahead:
                assert following in whole, (
                    f"in {phase}, layer {layer} computes and the gather of layer {following} "
                    "has not begun"
                )
            for phase, layer, whole, on_their_way, _, following in ahead:
                if len(whole) > 2:
                    raise Undecided("first, at most two layers may be whole: see its check")
                assert following in on_their_way, (
                    f"in {phase}, layer {layer} computes only after the gather of layer "
                    f"{following} has been waited for"
                )
            computing = [*range(on_rank.LAYERS), *reversed(range(on_rank.LAYERS - 1))]
            begun = [layer for layer, _ in groupby(order)]
            if begun != computing:
                raise Failure(
                    f"in a step, layers compute in the order {computing}, and their gathers "
                    f"begin in the order {begun}",
                    FIRST,
                )

    @hint("`start` only begins; which method returns when the weights are there?")
    def test_waits(self, ranks):
        """A layer computes only after its gather has been waited for."""
        for seen, *_ in ranks(2, on_rank.watched):
            for phase, layer, _, on_their_way, _ in seen:
                assert layer not in on_their_way, (
                    f"in {phase}, layer {layer} computes with weights that may not have arrived"
                )

    @hint("When backward has done with a layer, its gradients can travel at once.")
    def test_reduced_in_time(self, ranks):
        """While a layer's backward computes, no other layer has whole gradients."""
        for seen, *_ in ranks(2, on_rank.watched):
            for phase, layer, *_, gradients in seen:
                assert not gradients, (
                    f"while layer {layer} computes in {phase}, "
                    f"layers {gradients} have whole gradients"
                )

    @hint(
        "`self.reduces` says only whether the gradients of this pass travel. What else happens at "
        "the end of every pass, to the weights and to your count?"
    )
    def test_no_sync(self, ranks):
        """Within no_sync() gradients stay, whole and not sent; the next pass reduces their sum."""
        for rank, (whole, missing, reduced, off) in enumerate(ranks(2, on_rank.without_sync)):
            assert not whole, f"after no_sync(), rank {rank} still holds whole weights: {whole[0]}"
            assert not reduced, f"within no_sync(), rank {rank} reduces {reduced} bytes"
            assert not missing, f"after no_sync(), rank {rank} has no gradient of {missing[0]}"
            assert off < CLOSE, (
                f"after two passes within no_sync() and one without, rank {rank}'s weights "
                f"are off by {off:.2g}"
            )

    @hint("A layer is gathered twice in a step, its gradients are reduced once; count your calls.")
    def test_traffic(self, ranks):
        """A step gathers a layer at most twice, the rest once, and reduces each gradient once."""
        for calls, sent, sizes, _ in ranks(3, traffic, "my_fsdp"):
            expected = 3 * sizes["layers"] + 2 * sizes["outer"]
            assert sent <= expected, (
                f"a step sends {sent} bytes instead of {expected}, in units of (N-1)/N, "
                f"in {len(calls)} calls"
            )

    @hint("The buffer computes in its dtype; what the optimizer updates stays as it is.")
    def test_bf16(self, ranks):
        """In bf16 it trains as one process that computes in bf16 and updates float32."""
        for off, dtypes in ranks(2, on_rank.in_bf16):
            assert dtypes == {"torch.float32"}, f"the shards are {', '.join(sorted(dtypes))}"
            if not off < BF16:
                self.only_if_at_rest(ranks)
            assert off < BF16, f"after 3 steps in bf16 the weights are off by {off:.2g}"

    @hint("A layer whose forward runs again inside backward must still be whole after it.")
    def test_recomputed(self, ranks):
        """Activation checkpointing changes nothing in the result."""
        for off, left in ranks(2, on_rank.recomputed):
            assert not left, f"with recomputed activations, layers {left} stay whole after a step"
            assert off < CLOSE, (
                f"with recomputed activations the weights are off by {off:.2g} after 2 steps"
            )
