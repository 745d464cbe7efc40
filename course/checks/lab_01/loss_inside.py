"""Checks of loss_inside: the loss inside forward."""

from course.checks.lab_01 import on_rank_loss_inside as on_rank
from course.checks.tools.hint import hint
from course.checks.tools.reference import CLOSE


class TestLossInside:
    """Exercise 2: the loss inside forward."""

    def compare(self, alone, *cases: tuple[int, int, int, int]) -> None:
        """Loss and gradients are those of the whole batch.

        `cases` are (samples, tokens of each, ignored labels, devices).
        """
        results = alone(on_rank.losses, list(cases))
        for case, (loss, gradient) in zip(cases, results, strict=True):
            described = _described(*case)
            assert loss < CLOSE, f"{described}: the loss is off by {loss:.2g}"
            assert gradient < CLOSE, f"{described}: the gradients are off by {gradient:.2g}"

    @hint("The sum of everything is the sum of the devices' sums. Is this what you return?")
    def test_even(self, alone):
        """Loss and gradients are those of the whole batch for equal shares (2 and 4 devices)."""
        self.compare(alone, (8, 0, 0, 2), (8, 0, 0, 4))

    @hint("How much does each sample weigh in your mean? For 5 samples it should be 1/5 each.")
    def test_uneven(self, alone):
        """They are right for uneven shares: 5 samples on 2 devices, 7 on 3, 5 on 4."""
        self.compare(alone, (5, 0, 0, 2), (7, 0, 0, 3), (5, 0, 0, 4))

    @hint("There may be one device only. Does your mean need more than one entry?")
    def test_one(self, alone):
        """They are right on one device, and for a single sample."""
        self.compare(alone, (4, 0, 0, 1), (1, 0, 0, 3))

    @hint("Here every token has a label. How many labels does a share have?")
    def test_tokens(self, alone):
        """They are right with a label for each token: 6 sequences on 2 devices, 5 on 3."""
        self.compare(alone, (6, 4, 0, 2), (5, 4, 0, 3))

    @hint("Labels of -100 do not count. Do you count them?")
    def test_ignored(self, alone):
        """They are right when labels of -100 are ignored, more on one device than on another."""
        self.compare(alone, (6, 4, 7, 2), (8, 0, 3, 2))

    @hint("What is the mean of no numbers at all? Where could it come up in your code?")
    def test_ignored_share(self, alone):
        """They are right when one device has no label that counts."""
        self.compare(alone, (4, 3, 6, 2), (6, 0, 2, 3))

    @hint("What does the master need for the loss of the batch, and what not?")
    def test_small_output(self, alone):
        """A device returns a few numbers, however large its logits are, and each in a vector."""
        count, bare = alone(on_rank.numbers, 16, 8)
        assert count <= 4, f"a device with 16 sequences of 8 tokens returns {count} numbers"
        assert not bare, (
            "a device returns a number without a dimension; a vector of one is asked for"
        )

    @hint("Which dtype do the losses have on their way, and what do you do with large ones?")
    def test_large(self, alone):
        """They are right in 64-bit floats for 5005 labels and a loss in the hundreds."""
        loss, gradient = alone(on_rank.large)
        assert loss < 1e-12, f"64-bit floats, a large loss: it is off by {loss:.2g} of itself"
        assert gradient < 1e-12, (
            f"64-bit floats, a large loss: the gradients are off by {gradient:.2g} of themselves"
        )

    @hint("You would like to know when a model diverges. What hides it?")
    def test_diverged(self, alone):
        """If the logits of a device are NaN, so is the loss."""
        loss = alone(on_rank.diverged)
        assert loss != loss, f"a sample has logits of NaN, but the loss is {loss:.4g}"

    @hint("What do you write outside of your function, or into the module?")
    def test_left_alone(self, alone):
        """A batch has no influence on another one, nor on the model's mode, and keeps no memory."""
        wrong = alone(on_rank.left_alone)
        assert not wrong, wrong


def _described(samples: int, tokens: int, ignored: int, devices: int) -> str:
    size = f"{samples} samples"
    if tokens:
        size += f" of {tokens} tokens"
    if ignored:
        size += f", {ignored} labels ignored,"
    return f"{size} on {devices} devices"
