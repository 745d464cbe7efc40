"""Checks of `master_weights`, exercise 1 of lab 05."""

from course.checks.lab_05 import on_rank_master_weights as on_rank
from course.checks.tools.hint import hint


class TestMasterWeights:
    """Exercise 1: float32 master weights."""

    @hint(
        "Which of the two is rounded, the weight or the master? "
        "In which format are a master's gradients?"
    )
    def test_small_changes(self, alone):
        """A thousand changes of 0.0001 show in a float16 weight of 1."""
        weight, master = alone(on_rank.small_changes)
        assert abs(master - 1.1) < 1e-3, f"the master is {master:.4f} instead of 1.1"
        assert abs(weight - 1.1) < 1e-3, f"the weight is {weight:.4f} instead of 1.1"

    @hint("`.float()` of a tensor that is float32 already is that very tensor, not a copy.")
    def test_copies(self, alone):
        """The optimizer has float32 copies that start where the weights are and share nothing with
        them.
        """
        results = alone(on_rank.copies)
        assert not results["weights themselves"], (
            "the optimizer has weights of the model, not copies of them"
        )
        assert results["formats"] == {"torch.float32"}, (
            f"the masters are {', '.join(sorted(results['formats']))}"
        )
        assert results["start"] == 0, (
            f"the masters start {results['start']:.2g} away from the weights"
        )
        assert results["model unchanged"], "making the masters has changed the model"
        assert results["apart"], (
            "a change of the masters changes the model at once: they share memory"
        )

    @hint(
        "Which way do the numbers go after the optimizer's step, "
        "and does the parameter stay the same tensor?"
    )
    def test_rounded(self, alone):
        """After a step the model's weights are the rounded masters, in the formats that they
        had, and no step leaves tensors behind.
        """
        changed, off, left = alone(on_rank.rounded)
        assert not changed, f"the model's weights have become {', '.join(changed)}"
        assert off == 0, f"a weight differs from its rounded master by {off:.2g}"
        assert left == 0, f"ten steps leave {left} more tensors in memory, they should leave none"

    @hint("A scaler looks for inf and nan in what the masters get, so nothing may be lost here.")
    def test_collect(self, alone):
        """`collect` gives a master its weight's gradient as it is, be it large, tiny, inf or
        nan.
        """
        for expected, got in alone(on_rank.collected).items():
            assert got == expected or (got != got and expected != expected), (
                f"a gradient of {expected:g} comes to the master as {got:g}"
            )

    @hint("A gradient goes into its master as it is, once.")
    def test_same_as_float32(self, alone):
        """The masters are what float32 weights with the same gradients would be, for momentum and
        AdamW.
        """
        for name, off in alone(on_rank.reference).items():
            assert off == 0, f"{name}: after 5 steps a master is off by {off:.2g}"

    @hint(
        "An optimizer does not touch a weight whose gradient is None, "
        "but its momentum moves a weight whose gradient is 0."
    )
    def test_unused(self, alone):
        """A weight without a gradient is left alone."""
        moved = alone(on_rank.unused)
        assert moved == 0, f"a weight without a gradient in this step has moved by {moved:.2g}"
